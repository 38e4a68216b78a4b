"""Counters that only grow, from a broker's that may fall, and the arrivals that no broker counter shows."""

from __future__ import annotations

from dataclasses import dataclass

from exporter.model.rabbitmq import Counters
from exporter.model.rabbitmq_age import SKEW
from exporter.model.rabbitmq_listing import RawCounters

NAMES = ("published", "delivered", "acknowledged", "redelivered", "departed")


@dataclass(frozen=True, slots=True)
class Grown:
    """A queue's counters, each as last read and as counted. `epoch` counts the interruptions."""

    read: tuple[int | None, ...] = (None,) * len(NAMES)
    counted: tuple[int | None, ...] = (None,) * len(NAMES)
    epoch: int = 0

    def then(self, raw: RawCounters) -> Grown:
        """After one more poll. A counter that fell (a node's statistics are gone) goes on from where it was."""
        now = [getattr(raw, name) for name in NAMES]
        fell = any(new is not None and old is not None and new < old for new, old in zip(now, self.read, strict=True))
        counted = tuple(map(_grow, now, self.read, self.counted))
        read = tuple(old if new is None else new for new, old in zip(now, self.read, strict=True))
        return Grown(read, counted, self.epoch + fell)

    def shown(self, raw: RawCounters) -> Counters:
        """What this poll knows: a counter that it could not read is unknown, whatever was counted before."""
        published, delivered, acknowledged, redelivered, _ = (
            None if getattr(raw, name) is None else value for name, value in zip(NAMES, self.counted, strict=True)
        )
        return Counters(published, delivered, acknowledged, redelivered)

    def known(self, name: str, raw: RawCounters) -> int | None:
        """One counter, by its name here, if this poll read it."""
        return None if getattr(raw, name) is None else self.counted[NAMES.index(name)]


def _grow(new: int | None, read: int | None, counted: int | None) -> int | None:
    if new is None:
        return counted
    if read is None or counted is None:
        return new
    return counted + max(new - read, 0)


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Messages that arrived in a queue since `start`: what it holds and what left it, at its highest.

    Depth and departures are not of the same instant: both are up to `SKEW` old. So a departure counts only once it is
    that old, lest a message be counted twice that left one statistic and still stands in the other.
    """

    highest: int
    start: int
    departed: int  # those that count
    waiting: tuple[tuple[float, int], ...] = ()  # (unix seconds, departures) seen since, oldest first

    @classmethod
    def begin(cls, depth: int, departed: int, from_nothing: bool) -> Arrivals:
        """`from_nothing`: the queue is new, so what it holds has arrived since."""
        return cls(depth + departed, 0 if from_nothing else depth + departed, departed)

    def then(self, depth: int, departed: int, at: float) -> Arrivals:
        """After one more poll, at `at`."""
        last = self.waiting[-1][1] if self.waiting else self.departed
        waiting = self.waiting if departed == last else (*self.waiting, (at, departed))
        settled = self.departed
        while waiting and waiting[0][0] <= at - SKEW:
            settled, waiting = waiting[0][1], waiting[1:]
        return Arrivals(max(self.highest, depth + settled), self.start, settled, waiting)

    @property
    def count(self) -> int:
        """Arrivals so far; only ever grows."""
        return self.highest - self.start
