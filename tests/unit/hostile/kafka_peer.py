"""A cluster that answers from a recording, over real sockets, and damages what it is told to."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from random import Random
from typing import Any

import pytest

from exporter.clients.kafka.wire import INT32
from tests.unit.hostile import damage
from tests.unit.hostile.recordings import KafkaRecording
from tests.unit.kafka.fake_broker import exactly, listener

API_VERSIONS = 18
Frames = Callable[[Random, bytes], list[bytes]]


def too_long(_: Random, frame: bytes) -> list[bytes]:
    """It claims more than comes, and then it ends."""
    return [INT32.pack(len(frame) + 1000), frame]


def impossible_length(random: Random, frame: bytes) -> list[bytes]:
    return [INT32.pack(random.choice((-1, 0, 3, -(2**31), 2**31 - 1, 200 * 2**20))), frame]


def other_correlation(random: Random, frame: bytes) -> list[bytes]:
    return [INT32.pack(len(frame)), INT32.pack(random.randrange(-(2**31), 2**31)), frame[4:]]


def only_the_start(random: Random, frame: bytes) -> list[bytes]:
    return [(INT32.pack(len(frame)) + frame)[: random.randrange(len(frame) + 4)]]


def in_crumbs(random: Random, frame: bytes) -> list[bytes]:
    """Whole, but a few bytes at a time."""
    whole = INT32.pack(len(frame)) + frame
    size = max(1, len(whole) // random.randrange(5, 40))
    return [whole[at : at + size] for at in range(0, len(whole), size)]


def with_more_behind(random: Random, frame: bytes) -> list[bytes]:
    return [INT32.pack(len(frame)), frame, random.randbytes(random.randrange(1, 200))]


def bad_tags(random: Random, frame: bytes) -> list[bytes]:
    """The tagged fields of the header have no end."""
    bad = frame[:4] + random.choice(damage.VARINTS) + frame[5:]
    return [INT32.pack(len(bad)), bad]


ENDING: frozenset[Frames] = frozenset({too_long, only_the_start, impossible_length})  # the connection is closed then
FRAMES: tuple[Frames, ...] = (
    too_long, impossible_length, other_correlation, only_the_start, in_crumbs, with_more_behind, bad_tags,
)  # fmt: skip


class Peer:
    """`targets`: the api keys whose answers are damaged, with probability `share`. `stall`: they never come."""

    def __init__(self, recording: KafkaRecording, seed: int) -> None:
        self.recording = recording
        self.random = Random(seed)
        self.targets: frozenset[int] = frozenset()
        self.share = 0.0
        self.stall = False
        self.damaged = 0
        self._lock = threading.Lock()  # one generator for all connections
        self._released = threading.Event()

    def serve(self, address: str, sock: socket.socket) -> None:
        with sock:
            while True:
                frame = exactly(sock, INT32.unpack(exactly(sock, 4))[0])
                key, version, correlation, size = struct.unpack_from(">hhih", frame)
                answer = self.recording.answer(address, key, version, frame[11 + size :])
                if answer is None:
                    return
                head = INT32.pack(correlation) + (b"" if key == API_VERSIONS else b"\0")
                parts, ends = self._parts(key, head, answer)
                for part in parts:
                    sock.sendall(part)
                if parts == []:
                    self._released.wait(20)
                if ends:
                    return

    def _parts(self, key: int, head: bytes, answer: bytes) -> tuple[list[bytes], bool]:
        """What is sent, nothing for silence, and whether the connection ends then."""
        with self._lock:
            random = self.random
            if key not in self.targets or random.random() >= self.share:
                return [INT32.pack(len(head) + len(answer)), head, answer], False
            self.damaged += 1
            if self.stall:
                return [], True
            if random.random() < 0.3:
                frames = random.choice(FRAMES)
                return frames(random, head + answer), frames in ENDING
            if random.random() < 0.1:
                answer = random.choice(list(self.recording.any.values()))  # of another question
            body = random.choice(damage.ALL)(random, answer)
            return [INT32.pack(len(head) + len(body)), head, body], False

    def release(self) -> None:
        """Let go of everyone who waits in silence."""
        self._released.set()


def only_here(patch: pytest.MonkeyPatch, places: dict[tuple[str, int], int]) -> None:
    """Names lead to these ports of ours and nowhere else, whatever a damaged answer says."""
    real = socket.getaddrinfo

    def found(host: Any, port: Any, *more: Any, **named: Any) -> Any:
        if (host, port) in places:
            return real("127.0.0.1", places[host, port], *more, **named)
        named["flags"] = socket.AI_NUMERICHOST  # it refuses what can't be a name at all, and asks no name server
        made = real(host, port, *more, **named)
        nobody = port if isinstance(port, int) and not 0 <= port <= 65535 else 1
        return [(*one[:4], ("127.0.0.1", nobody)) for one in made if one[0] == socket.AF_INET]

    patch.setattr(socket, "getaddrinfo", found)


@contextmanager
def cluster(recording: KafkaRecording, seed: int) -> Iterator[Peer]:
    """The brokers of a recording, reachable at the addresses that it names."""
    peer = Peer(recording, seed)
    addresses = sorted({address for address, _, _ in recording.any})
    with ExitStack() as stack:
        places = {}
        for address in addresses:
            host, _, port = address.rpartition(":")
            serve = lambda sock, address=address: peer.serve(address, sock)  # noqa: E731
            places[host, int(port)] = stack.enter_context(listener(serve))
        only_here(stack.enter_context(pytest.MonkeyPatch.context()), places)
        try:
            yield peer
        finally:
            peer.release()
