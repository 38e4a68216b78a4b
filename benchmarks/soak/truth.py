"""What was really so, and when: from the workload's own ledger and from an independent reader.

A moving value can't be compared with a number. Each thing that is counted here only grows, so what is known of it are
floors ("from this moment on it was at least that") and ceilings ("until this moment it was at most that"); a value on a
page must lie between the floor at the oldest moment it may be of and the ceiling at the moment the page was had.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any

Key = tuple[str, ...]
"""("end", topic, partition), ("commit", group, topic, partition), ("in", queue), ("out", queue)."""
Thing = tuple[str, str]
"""("topic" | "group" | "queue", name)."""
KEPT = 300.0  # seconds for which what is known is remembered


class Rising:
    """A number that only grows, as far as it is known. Times are unix seconds and come in order."""

    def __init__(self) -> None:
        self.floors: list[tuple[float, int]] = []
        self.ceilings: list[tuple[float, int]] = []

    def floor(self, since: float, value: int) -> None:
        """From `since` on it was at least `value`."""
        _put(self.floors, since, value)

    def ceiling(self, until: float, value: int) -> None:
        """Until `until` it was at most `value`."""
        _put(self.ceilings, until, value)

    def at_least(self, moment: float) -> int | None:
        """The highest value that it surely had by then; None when nothing was known."""
        known = self.floors[: bisect_right(self.floors, (moment, inf))]
        return max((value for _, value in known), default=None)

    def at_most(self, moment: float) -> int | None:
        """The lowest value that it surely did not exceed then; None while nothing later is known."""
        known = self.ceilings[bisect_left(self.ceilings, (moment, -inf)) :]
        return min((value for _, value in known), default=None)

    def forget(self, before: float) -> None:
        """Drop what no later question can need: of the floors the best one stays."""
        old = bisect_right(self.floors, (before, inf))
        if old > 1:
            self.floors[:old] = [(before, max(value for _, value in self.floors[:old]))]
        del self.ceilings[: bisect_left(self.ceilings, (before, -inf))]


def _put(rows: list[tuple[float, int]], moment: float, value: int) -> None:
    rows.insert(bisect_right(rows, (moment, inf)), (moment, value))


@dataclass(slots=True)
class Life:
    """When a thing was there: complete since `born`, asked to go at `dying`, surely gone at `gone`."""

    born: float | None = None
    dying: float | None = None
    gone: float | None = None
    parts: tuple[Key, ...] = ()  # what a page must show of it


@dataclass(frozen=True, slots=True)
class Members:
    """One look at who is a member of a system's cluster."""

    begun: float
    ended: float
    names: frozenset[str]


@dataclass
class Truth:
    """Everything known so far.

    `waits`: (group, topic, partition) or (queue,) -> between which moments its oldest message was written.
    """

    counts: dict[Key, Rising] = field(default_factory=dict)
    lives: dict[Thing, Life] = field(default_factory=dict)
    waits: dict[Key, tuple[float, float]] = field(default_factory=dict)
    members: dict[str, list[Members]] = field(default_factory=dict)  # system -> looks, oldest first
    seen: dict[str, int] = field(default_factory=dict)  # event -> how many

    def feed(self, event: dict[str, Any]) -> None:
        """Take in one line of a workload or of the reader."""
        what = event["event"]
        self.seen[what] = self.seen.get(what, 0) + 1
        if what == "read":
            for name, value in event["values"].items():
                key = (event["kind"], *json.loads(name))
                self.floor(key, event["ended"], value)
                self.ceiling(key, event["begun"], value)
        elif what in {"floor", "ceiling"}:
            moment = inf if event["at"] is None else event["at"]
            (self.floor if what == "floor" else self.ceiling)(tuple(event["key"]), moment, event["value"])
        elif what == "members":
            look = Members(event["begun"], event["ended"], frozenset(event["names"]))
            self.members.setdefault(event["kind"], []).append(look)
        elif what == "waits":
            self.waits[tuple(event["key"])] = (event["low"], event["high"])
        else:
            life = self.lives.setdefault((event["kind"], event["name"]), Life())
            setattr(life, what, event["at"])
            if "parts" in event:
                life.parts = tuple(tuple(part) for part in event["parts"])

    def floor(self, key: Key, since: float, value: int) -> None:
        """As in `Rising`."""
        self.counts.setdefault(key, Rising()).floor(since, value)

    def ceiling(self, key: Key, until: float, value: int) -> None:
        """As in `Rising`."""
        self.counts.setdefault(key, Rising()).ceiling(until, value)

    def looks(self, system: str, oldest: float, newest: float) -> list[Members]:
        """All looks between two moments with the last one before and the first one after; none when that is to come."""
        looks = self.members.get(system, [])
        first = max((at for at, look in enumerate(looks) if look.ended <= oldest), default=0)
        last = next((at for at, look in enumerate(looks) if look.begun >= newest), None)
        return [] if last is None else looks[first : last + 1]

    def forget(self, now: float) -> None:
        """Things gone for long, and what was known of values long ago."""
        for system, looks in self.members.items():
            self.members[system] = [look for look in looks if look.ended > now - KEPT]
        for rising in self.counts.values():
            rising.forget(now - KEPT)
        gone = {name for (_, name), life in self.lives.items() if life.gone is not None and life.gone < now - KEPT}
        self.lives = {thing: life for thing, life in self.lives.items() if thing[1] not in gone}
        self.counts = {key: rising for key, rising in self.counts.items() if not gone & set(key)}
        self.waits = {key: since for key, since in self.waits.items() if not gone & set(key)}


class Lines:
    """The lines that a process has written to a file so far, each once and whole."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._at = 0

    def fresh(self) -> Iterator[dict[str, Any]]:
        """Those that are new since the last call."""
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            file.seek(self._at)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self._at += len(line)
                yield json.loads(line)


class Book:
    """Where a workload or the reader writes what it knows, a line at a time."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", buffering=1)

    def write(self, event: str, **more: Any) -> None:
        """One event."""
        self._file.write(json.dumps({"event": event, **more}) + "\n")
