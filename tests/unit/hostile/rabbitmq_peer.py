"""A cluster of RabbitMQ nodes that answers from a recording, over real sockets, and damages what it is told to."""

from __future__ import annotations

import gzip
import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from random import Random
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.unit.hostile import damage
from tests.unit.hostile.kafka_peer import only_here
from tests.unit.hostile.recordings import RabbitRecording
from tests.unit.kafka.fake_broker import listener

DEEP = 100_000
BOMB = gzip.compress(bytes(64 * 1024 * 1024), 9)
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, -0.0, 10**18, -(10**18), 10**400, float("nan"), float("inf"), "", "x", "-1", "NaN",
    "\ud800", "a\nb", 'q"q', "\\", "\0", [], {}, [[]], {"": None}, [None], ["x"], {"x": 1}, "é" * 3000,
)  # fmt: skip
NUMBERS = (b"NaN", b"+Inf", b"-Inf", b"-1", b"-5.5", b"1e400", b"1e18", b"x", b"", b"0x10", b"1_000", b"9" * 500)
Reply = Callable[[Random, bytes], list[bytes]]


def json_damaged(random: Random, body: bytes) -> bytes:
    """Valid JSON in which some values have another type or size, are gone, or are there twice."""
    try:
        root = [json.loads(body)]
    except ValueError:
        return lines_damaged(random, body)
    for _ in range(random.choice((1, 1, 2, 5))):
        holder, key = _somewhere(random, root)
        how = random.random()
        if how < 0.65:
            holder[key] = deepcopy(random.choice(VALUES))
        elif how < 0.8:
            del holder[key]
        elif isinstance(holder, list):
            holder.append(holder[key])
        else:
            holder[str(random.choice(VALUES))] = holder.pop(key)
        root = root or [None]
    return json.dumps(root[0]).encode()


def _somewhere(random: Random, root: list[Any]) -> tuple[Any, Any]:
    holder: Any = root
    key: Any = 0
    while isinstance(inner := holder[key], (list, dict)) and inner and random.random() < 0.8:
        holder, key = inner, random.choice(list(inner) if isinstance(inner, dict) else range(len(inner)))
    return holder, key


def nested(random: Random, _: bytes) -> bytes:
    opening = random.choice((b"[", b'{"items":', b'{"a":[', b'[{"name":'))
    return opening * DEEP + random.choice((b"", b"1" + (b"]" if opening == b"[" else b"}") * DEEP))


def lines_damaged(random: Random, body: bytes) -> bytes:
    """Prometheus text in which some lines have strange numbers, labels, or come twice."""
    lines = body.split(b"\n")
    for _ in range(random.choice((1, 3, 50, 500))):
        at = random.randrange(len(lines))
        name, space, _ = lines[at].rpartition(b" ")
        lines[at] = random.choice(
            (
                name + space + random.choice(NUMBERS),
                name + space + random.choice(NUMBERS),
                re.sub(
                    rb'="[^"]*"', b'="' + random.choice((b"\xff", b"", b'\\"', b"\\", b"x" * 5000)) + b'"', lines[at]
                ),
                lines[at] + b"\n" + lines[at],
                lines[at].replace(b'"', b""),
                lines[at][: random.randrange(len(lines[at]) + 1)],
            )
        )
    return b"\n".join(lines)


def head(length: int | None, *more: str, status: str = "200 OK") -> bytes:
    lines = [f"HTTP/1.1 {status}", "Content-Type: application/json", *more]
    lines += [] if length is None else [f"Content-Length: {length}"]
    return "\r\n".join([*lines, "", ""]).encode()


def too_long(_: Random, body: bytes) -> list[bytes]:
    return [head(len(body) + 100), body]


def too_short(random: Random, body: bytes) -> list[bytes]:
    return [head(random.randrange(len(body) + 1)), body]


def no_length(random: Random, body: bytes) -> list[bytes]:
    strange = ("-1", "x", "9" * 30, "1, 2", "")
    return [head(None, f"Content-Length: {random.choice(strange)}"), body]


def bad_chunks(random: Random, body: bytes) -> list[bytes]:
    size = random.choice((b"zz", b"-5", b"ffffffffffffffff", b"%x" % (len(body) + 5), b"0", b"", b"1;" + b"x" * 70000))
    return [head(None, "Transfer-Encoding: chunked"), size + b"\r\n", body]


def bomb(_: Random, __: bytes) -> list[bytes]:
    return [head(len(BOMB), "Content-Encoding: gzip"), BOMB]


def bad_encoding(random: Random, body: bytes) -> list[bytes]:
    name = random.choice(("gzip", "deflate", "br", "zstd", "gzip, gzip, gzip, gzip, gzip, gzip"))
    packed = random.choice((gzip.compress(body)[:-9], body, random.randbytes(100)))
    return [head(len(packed), f"Content-Encoding: {name}"), packed]


def endless(_: Random, __: bytes) -> list[bytes]:
    return [head(None), *[b"[" + b" " * 65536] * 100]


def strange_status(random: Random, body: bytes) -> list[bytes]:
    code = random.choice(
        ("999 x", "100 Continue", "204 No", "301 Moved", "401 No", "404 No", "500 No", "-1", "20x", "")
    )
    return [head(len(body), f"Location: http://127.0.0.1:1/{'x' * 50}", status=code), body]


def strange_head(random: Random, body: bytes) -> list[bytes]:
    line = random.choice((b"\xff\xfe: x", b"no colon", b"A: " + b"x" * 100_000, b": ", b"Date: \xff", b"Date: 99"))
    many = random.choice((1, 1, 300))
    return [head(len(body))[:-2], (line + b"\r\n") * many, b"\r\n", body]


def no_http(random: Random, _: bytes) -> list[bytes]:
    return [random.choice((b"", b"\0" * 100, b"HTTP/1.1\r\n\r\n", b"AMQP\0\0\x09\x01", random.randbytes(300)))]


REPLIES: tuple[Reply, ...] = (
    too_long, too_short, no_length, bad_chunks, bomb, bad_encoding, endless, strange_status, strange_head, no_http,
)  # fmt: skip
BODIES: tuple[damage.Damage, ...] = (
    json_damaged, json_damaged, json_damaged, json_damaged, json_damaged, lines_damaged, nested, *damage.ALL
)  # fmt: skip


class Peer:
    """`targets`: the paths (without query) whose answers are damaged, with probability `share`."""

    def __init__(self, recording: RabbitRecording, seed: int) -> None:
        self.recording = recording
        self.random = Random(seed)
        self.targets: frozenset[str] = frozenset()
        self.share = 0.0
        self.stall = False
        self.damaged = 0
        self._lock = threading.Lock()
        self._released = threading.Event()

    def serve(self, address: str, sock: socket.socket) -> None:
        with sock:
            while True:
                request = b""
                while b"\r\n\r\n" not in request:
                    more = sock.recv(65536)
                    if not more:
                        return
                    request += more
                if not self._answer(sock, address, request.split()[1].decode()):
                    return

    def _answer(self, sock: socket.socket, address: str, path: str) -> bool:
        """Whether the connection stays open."""
        body = self.recording.answer(address, path)
        if body is None:
            sock.sendall(head(0, status="404 Not Found"))
            return True
        parts, stays = self._parts(path, body)
        if not parts:
            self._released.wait(20)
        for part in parts:
            sock.sendall(part)
        return stays

    def _parts(self, path: str, body: bytes) -> tuple[list[bytes], bool]:
        with self._lock:
            random = self.random
            if path.partition("?")[0] not in self.targets or random.random() >= self.share:
                return [head(len(body)), body], True
            self.damaged += 1
            if self.stall:
                return [], False
            if random.random() < 0.25:
                return random.choice(REPLIES)(random, body), False
            body = random.choice(BODIES)(random, body)
            return [head(len(body)), body], True

    def release(self) -> None:
        """Let go of everyone who waits in silence."""
        self._released.set()


@contextmanager
def cluster(recording: RabbitRecording, seed: int) -> Iterator[Peer]:
    """The nodes of a recording, reachable at the addresses that it names."""
    peer = Peer(recording, seed)
    addresses = {urlsplit(url).netloc for url in (*recording.urls, *recording.nodes.values())}
    with ExitStack() as stack:
        places = {}
        for address in sorted(addresses):
            serve = lambda sock, address=address: peer.serve(address, sock)  # noqa: E731
            port = stack.enter_context(listener(serve))
            where = int(address.rpartition(":")[2])
            places |= {(host, where): port for host in ("127.0.0.1", "localhost")}
        only_here(stack.enter_context(pytest.MonkeyPatch.context()), places)
        try:
            yield peer
        finally:
            peer.release()
