"""How long some work takes, on the clock and of CPU."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Took:
    """Seconds of one run."""

    wall: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.wall:.3f} s ({self.cpu:.3f} s CPU)"


def timed(work: Callable[[], object]) -> Took:
    """Seconds that some work takes."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Took(time.perf_counter() - wall, time.process_time() - cpu)


def best(runs: int, work: Callable[[], object]) -> Took:
    """The quickest of some runs: what is left then is the work, not what else the machine did."""
    return min((timed(work) for _ in range(runs)), key=lambda took: took.wall)


def best_of_both(runs: int, one: Callable[[], object], other: Callable[[], object]) -> tuple[Took, Took]:
    """The quickest of some runs of each, taken in turn: what slows the machine for a while slows both."""
    pairs = [(timed(one), timed(other)) for _ in range(runs)]
    first, second = zip(*pairs, strict=True)
    return min(first, key=lambda took: took.wall), min(second, key=lambda took: took.wall)


def percentile(values: list[float], share: float) -> float:
    """The value below which this share of the values lies; the highest ones for 0.99 of few values."""
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]
