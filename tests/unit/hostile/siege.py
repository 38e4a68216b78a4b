"""Polls of a peer whose answers are damaged, with polls of an honest one in between, in a process of their own.

    python -m tests.unit.hostile.siege kafka|rabbitmq SEED ANSWERS [MUTATION]

prints the outcome as JSON. What is allocated tells of growth; resident memory tells less of it, since malloc keeps what
a large answer once needed.
"""

from __future__ import annotations

import ctypes
import gc
import json
import resource
import sys
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Protocol

import pytest

from exporter.arenas import keep_little
from exporter.clients.rabbitmq import http
from tests.mutations import MUTATIONS, mutation
from tests.unit.hostile.systems import SYSTEMS, System
from tests.unit.hostile.watched import Key, Watched, only

HONEST_EVERY = 10
SILENT_EVERY = 40
RECOVERS_IN = 10  # polls
DEADLINE = 20.0  # of a poll that takes two timeouts at most where the machine is idle
LARGEST = 4 << 20  # bytes of an answer, in place of what a listing of 100,000 queues needs


class Peer(Protocol):
    """What both peers have."""

    random: Random
    targets: frozenset[Any]
    share: float
    stall: bool
    damaged: int


@dataclass
class Outcome:
    """What a siege came to. After each honest poll: objects alive, MiB that malloc has given out, MiB resident."""

    polls: int = 0
    damaged: int = 0
    slowest: float = 0.0
    objects: list[int] = field(default_factory=list)
    allocated: list[float] = field(default_factory=list)
    resident: list[float] = field(default_factory=list)

    def look(self) -> None:
        """Note what the process holds."""
        gc.collect()
        self.objects.append(len(gc.get_objects()))
        self.allocated.append(allocated() / 2**20)
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        self.resident.append(pages * resource.getpagesize() / 2**20)


def allocated() -> int:
    """Bytes that malloc has given out; small Python objects have arenas of their own and are counted as objects."""
    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    fields = [(name, ctypes.c_size_t) for name in names.split()]
    ask = ctypes.CDLL("libc.so.6").mallinfo2
    ask.restype = type("mallinfo2", (ctypes.Structure,), {"_fields_": fields})
    told = ask()
    return int(told.uordblks + told.hblkhd)


def hostile(system: System, seed: int, answers: int) -> Outcome:
    """Polls until so many damaged answers were given. Raises AssertionError at the first page that is wrong."""
    with (
        pytest.MonkeyPatch.context() as patch,
        system.cluster(seed) as peer,
        Watched(system.section(), system.reader, DEADLINE) as watched,
    ):
        patch.setattr(http, "LARGEST", LARGEST)
        return besiege(watched, peer, system, answers)


def besiege(watched: Watched, peer: Peer, system: System, answers: int) -> Outcome:
    """What a poll begins with is damaged in one of ten.

    Every tenth poll is answered honestly, and what it shows of the facts must be what the first one showed.
    """
    outcome = Outcome()
    expected = honest(watched, peer, system.facts)
    while peer.damaged < answers:
        outcome.polls += 1
        choose(peer, system.first, system.others)
        peer.stall = outcome.polls % SILENT_EVERY == 0
        watched.poll()
        if outcome.polls % HONEST_EVERY == 0:
            recovered(watched, peer, system.facts, expected)
            outcome.look()
    recovered(watched, peer, system.facts, expected)
    outcome.damaged, outcome.slowest = peer.damaged, watched.slowest
    return outcome


def choose(peer: Peer, first: Collection[Any], others: Sequence[Any]) -> None:
    """What is damaged in the next poll."""
    random = peer.random
    if random.random() < 0.1:
        peer.targets, peer.share = frozenset(first), 1.0
    else:
        peer.targets = frozenset(random.sample(others, random.randrange(1, len(others) + 1)))
        peer.share = random.choice((0.3, 1.0, 1.0))


def honest(watched: Watched, peer: Peer, facts: tuple[str, ...]) -> dict[Key, float]:
    """The facts of a poll without damage."""
    peer.targets = frozenset()
    return only(watched.poll(), facts)


def recovered(watched: Watched, peer: Peer, facts: tuple[str, ...], expected: dict[Key, float]) -> None:
    """What hostile answers said is forgotten: by the next poll, or a few later where a busy machine is late itself."""
    for _ in range(RECOVERS_IN):
        if (seen := honest(watched, peer, facts)) == expected:
            return
    wrong = {key: (expected.get(key), seen.get(key)) for key in expected.keys() | seen.keys()}
    published = watched.cluster.published
    said = [problem for run in published.snapshot.runs for problem in run.problems] if published else []
    raise AssertionError(f"{said}; not recovered: { {key: pair for key, pair in wrong.items() if pair[0] != pair[1]} }")


@mutation
def answers_are_kept(patch: pytest.MonkeyPatch) -> None:
    """What RabbitMQ answers stays in memory, in few objects and many bytes."""
    kept = bytearray()
    read = http.Client._body

    def keeping(client: http.Client, *more: Any) -> bytes:
        body = read(client, *more)
        kept.extend(body)
        return body

    patch.setattr(http.Client, "_body", keeping)


def main(name: str, seed: str, answers: str, broken: str | None = None) -> str:
    """The outcome of one siege."""
    keep_little()
    system = SYSTEMS[name]()
    if broken is None:
        return json.dumps(asdict(hostile(system, int(seed), int(answers))))
    with MUTATIONS[broken]():
        return main(name, seed, answers)


if __name__ == "__main__":
    sys.stdout.write(main(*sys.argv[1:]) + "\n")
