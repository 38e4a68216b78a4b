"""Polls of a peer whose answers are damaged, with polls of an honest one in between."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol

from tests.unit.hostile.watched import Key, Watched, objects, only

HONEST_EVERY = 10
SILENT_EVERY = 40
RECOVERS_IN = 10  # polls


class Peer(Protocol):
    """What both peers have."""

    random: Random
    targets: frozenset[Any]
    share: float
    stall: bool
    damaged: int


@dataclass
class Outcome:
    """What a siege came to. `alive`: objects after each honest poll."""

    polls: int = 0
    damaged: int = 0
    slowest: float = 0.0
    alive: list[int] = field(default_factory=list)

    @property
    def growth(self) -> float:
        """How many times more objects there are than after the first third."""
        return self.alive[-1] / self.alive[len(self.alive) // 3]


def besiege(
    watched: Watched, peer: Peer, first: Collection[Any], others: Sequence[Any], answers: int, facts: tuple[str, ...]
) -> Outcome:
    """Until so many damaged answers were given. `first`: what a poll begins with, which is damaged in one of ten.

    Every tenth poll is answered honestly, and what it shows of `facts` must be what the first one showed.
    """
    outcome = Outcome()
    expected = honest(watched, peer, facts)
    while peer.damaged < answers:
        outcome.polls += 1
        choose(peer, first, others)
        peer.stall = outcome.polls % SILENT_EVERY == 0
        watched.poll()
        if outcome.polls % HONEST_EVERY == 0:
            recovered(watched, peer, facts, expected)
            outcome.alive.append(objects())
    recovered(watched, peer, facts, expected)
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
    assert {} == {key: pair for key, pair in wrong.items() if pair[0] != pair[1]}
