"""Lag, age and state of the partitions of one group on one topic: plain arithmetic on what the brokers said.

Lag is the high watermark minus the committed offset, counted from the log start where retention has already passed the
commit. Where it can't be said there is a state instead of a number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import repeat
from operator import le, sub
from typing import Any

from exporter.model.kafka import (
    BELOW_LOG_START,
    BEYOND_LOG_END,
    FUTURE_TIMESTAMP,
    NO_COMMIT,
    OK,
    UNREADABLE,
    GroupPartitionLabels,
    GroupTopic,
)
from exporter.model.record_time import Position, RecordTime

NOTHING: Mapping[int, Any] = {}
CLOCK_TOLERANCE = 1.0  # seconds that a record may be ahead of our clock and still count as just written


@dataclass(slots=True)
class TopicEnds:
    """The offsets of one topic, by partition number. None is unknown.

    `whole` is set once the lists are final: both bounds of every partition are known.
    """

    starts: list[int | None]
    stables: list[int | None]
    highs: list[int | None]
    whole: bool = False

    @classmethod
    def unknown(cls, count: int) -> TopicEnds:
        """Nothing known yet about partitions 0 to count - 1."""
        return cls([None] * count, [None] * count, [None] * count)

    def close(self) -> None:
        """Take the lists as final. Asked once a topic and not once a group: twenty groups share the answer."""
        self.whole = None not in self.starts and None not in self.highs

    def bounds(self, partition: int) -> tuple[int | None, int | None]:
        """Log start and high watermark; (None, None) for a partition that the topic does not have."""
        if not 0 <= partition < len(self.highs):
            return None, None
        return self.starts[partition], self.highs[partition]


@dataclass(frozen=True, slots=True)
class Commits:
    """What is known of one group on one topic before the ends: labels, partitions and offsets side by side.

    `unreadable` are partitions whose commit could not be read. `assigned` are those that members have now.
    `share_lags` is the broker's own lag of a share group, which knows acknowledged records in the middle.
    """

    topic: str
    labels: tuple[GroupPartitionLabels, ...]
    partitions: tuple[int, ...]
    offsets: tuple[int, ...]
    unreadable: Collection[int] = ()
    assigned: Collection[int] = ()
    share_lags: tuple[int | None, ...] | None = None


@dataclass(slots=True)
class RawLags:
    """Lag in offsets before any record was looked at, side by side with the partitions.

    `lost` is (partition, commit, log start) of each whose commit retention has passed. `everywhere`: every partition of
    the topic has a commit inside its log. `caught_up`: each of them is at its end.
    """

    lags: list[int | None]
    states: dict[int, str] = field(default_factory=dict)
    lost: list[tuple[int, int, int]] = field(default_factory=list)
    everywhere: bool = False
    caught_up: bool = False


def raw_lags(commits: Commits, ends: TopicEnds) -> RawLags:
    """Lag and state of each partition with a commit."""
    partitions, offsets = commits.partitions, commits.offsets
    raw = _healthy(ends, partitions, offsets) or _one_by_one(ends, partitions, offsets)
    if commits.share_lags is not None:
        raw = RawLags(list(commits.share_lags), raw.states, raw.lost)
    return raw


def _healthy(ends: TopicEnds, partitions: Sequence[int], offsets: Sequence[int]) -> RawLags | None:
    """All at once, when every commit lies inside its log; the usual case."""
    if not offsets or not ends.whole or max(partitions) >= len(ends.highs):
        return None
    highs = [ends.highs[partition] for partition in partitions]
    everywhere = len(partitions) == len(ends.highs)
    if highs == list(offsets):
        return RawLags([0] * len(highs), everywhere=everywhere, caught_up=everywhere)
    lags = list(map(sub, highs, offsets))
    inside = all(map(le, map(ends.starts.__getitem__, partitions), offsets))  # type: ignore[arg-type]
    return RawLags(lags, everywhere=everywhere) if inside and min(lags) >= 0 else None


def _one_by_one(ends: TopicEnds, partitions: Sequence[int], offsets: Sequence[int]) -> RawLags:
    raw = RawLags([])
    for partition, offset in zip(partitions, offsets, strict=True):
        start, high = ends.bounds(partition)
        if start is None or high is None or start > high:  # the last is counted as a contradiction
            raw.lags.append(None)
            raw.states[partition] = UNREADABLE
        elif offset > high:
            raw.lags.append(None)
            raw.states[partition] = BEYOND_LOG_END
        elif offset < start:
            raw.lags.append(high - start)
            raw.states[partition] = BELOW_LOG_START
            raw.lost.append((partition, offset, start))
        else:
            raw.lags.append(high - offset)
    return raw


def unread(commits: Commits, ends: TopicEnds, raw: RawLags) -> list[tuple[int, int]]:
    """(partition, offset) of the first offset still to be read, for each partition with lag."""
    if raw.caught_up:
        return []
    rows = zip(commits.partitions, commits.offsets, raw.lags, strict=True)
    first = [(partition, offset) for partition, offset, lag in rows if lag]
    if not raw.lost:
        return first
    return [(partition, max(offset, ends.starts[partition] or 0)) for partition, offset in first]


@dataclass(frozen=True, slots=True)
class Counters:
    """Since the exporter first saw the group on this topic id."""

    lost: int = 0
    rewinds: int = 0


def group_topic(
    commits: Commits,
    ends: TopicEnds,
    raw: RawLags,
    times: Mapping[Position, RecordTime],
    now: float,
    counters: Counters,
    stamps: Sequence[float] | None = None,
) -> GroupTopic:
    """Everything about one group on one topic, with the ages of the records it has not read yet.

    `stamps`: when those records were written, one for each partition with lag, where all are known and in the past.
    """
    identity = (commits.topic, commits.labels, commits.partitions, commits.offsets)
    tail = (counters.lost, counters.rewinds)
    if raw.caught_up:
        count = len(commits.partitions)
        return GroupTopic(*identity, *_zeros(count), NOTHING, NOTHING, NOTHING, {OK: count}, *tail)
    ages = _Ages(commits, ends, list(raw.lags), dict(raw.states), times, now)
    ages.fill() if stamps is None else ages.fill_from(stamps)
    states = ages.states if raw.everywhere else {**ages.states, **_without_commit(commits, ends)}
    counts = _counts(len(ends.highs) if raw.everywhere else len(_domain(commits, ends)), states)
    used = _retention_used(commits.partitions, ages.lags, ends)
    return GroupTopic(*identity, tuple(ages.lags), tuple(ages.ages), ages.bounds, used, states, counts, *tail)


@lru_cache(maxsize=512)
def _zeros(count: int) -> tuple[tuple[int, ...], tuple[float, ...]]:
    return (0,) * count, (0.0,) * count


@dataclass(slots=True)
class _Ages:
    """Works out ages; a partition with nothing visible left turns out to have no lag."""

    commits: Commits
    ends: TopicEnds
    lags: list[int | None]
    states: dict[int, str]
    times: Mapping[Position, RecordTime]
    now: float
    ages: list[float | None] = field(default_factory=list)
    bounds: dict[int, float] = field(default_factory=dict)

    def fill(self) -> None:
        """Set `ages`, `bounds`, and what follows for `lags` and `states`."""
        self.ages = [None if lag is None else 0.0 for lag in self.lags]
        if not any(self.lags):
            return
        partitions, ages, lags, now = self.commits.partitions, self.ages, self.lags, self.now
        places = zip(repeat(self.commits.topic), partitions, self._first_unread())
        for at, (lag, time) in enumerate(zip(self.lags, map(self.times.get, places), strict=True)):
            if not lag:
                continue
            if time is None:
                ages[at] = None
                continue
            timestamp, bound = time
            if timestamp is None:
                lags[at] = 0
            elif bound is None and timestamp <= now:  # nearly all
                ages[at] = now - timestamp
            else:
                ages[at] = self._age(partitions[at], timestamp, bound)

    def fill_from(self, stamps: Sequence[float]) -> None:
        """Set `ages`: stamps of the partitions with lag are known."""
        now, rest = self.now, iter(stamps)
        if len(stamps) == len(self.lags):
            self.ages = [now - stamp for stamp in stamps]
        else:
            self.ages = [None if lag is None else now - next(rest) if lag else 0.0 for lag in self.lags]

    def _first_unread(self) -> Sequence[int]:
        """Committed offsets; the log start where that is further."""
        if not self.states:
            return self.commits.offsets
        rows = zip(self.commits.partitions, self.commits.offsets, strict=True)
        passed = {partition for partition, state in self.states.items() if state == BELOW_LOG_START}
        return [self.ends.starts[part] or 0 if part in passed else offset for part, offset in rows]

    def _age(self, partition: int, timestamp: float, bound: float | None) -> float | None:
        age = self.now - timestamp
        if age < -CLOCK_TOLERANCE - (bound or 0):
            self.states.setdefault(partition, FUTURE_TIMESTAMP)
            return None
        if age < 0:  # within what two clocks may differ: just written, and the difference is the uncertainty
            bound, age = max(bound or 0, -age), 0.0
        if bound is not None:
            self.bounds[partition] = bound
        return age


def _without_commit(commits: Commits, ends: TopicEnds) -> dict[int, str]:
    """States of the partitions of the domain that have no commit; an empty one is fine and not named."""
    states = dict.fromkeys(commits.unreadable, UNREADABLE)
    for partition in _domain(commits, ends) - set(commits.partitions) - set(commits.unreadable):
        start, high = ends.bounds(partition)
        if start is None or high is None:
            states[partition] = UNREADABLE
        elif high > start:
            states[partition] = NO_COMMIT
    return states


def _domain(commits: Commits, ends: TopicEnds) -> set[int]:
    """The assigned partitions, and all of the topic once the group has a commit on it."""
    whole: Iterable[int] = range(len(ends.highs)) if commits.partitions or commits.unreadable else ()
    return {*whole, *commits.assigned, *commits.partitions, *commits.unreadable}


def _counts(size: int, states: Mapping[int, str]) -> dict[str, int]:
    counts = {OK: size - len(states)}
    if states:
        counts.update(Counter(states.values()))
    return counts


def _retention_used(partitions: Sequence[int], lags: Sequence[int | None], ends: TopicEnds) -> dict[int, float]:
    """Share of the retained log that is still unread, for partitions with lag."""
    starts, highs = ends.starts, ends.highs
    if ends.whole and max(partitions, default=0) < len(highs):
        spans = map(sub, map(highs.__getitem__, partitions), map(starts.__getitem__, partitions))
        rows = zip(partitions, lags, spans, strict=True)
        return {partition: lag / span for partition, lag, span in rows if lag and span > 0}
    used: dict[int, float] = {}
    for partition, lag in zip(partitions, lags, strict=True):
        if lag and partition < len(highs):
            start, high = starts[partition], highs[partition]
            if start is not None and high is not None and high > start:
                used[partition] = lag / (high - start)
    return used


def lag_total(topic: GroupTopic) -> int | None:
    """Sum over the partitions whose lag is known, a lower bound when some are not; None when none is."""
    known = [lag for lag in topic.lags if lag is not None]
    return sum(known) if known else None


def oldest_age(topic: GroupTopic) -> float | None:
    """The greatest age that is known, a lower bound when some are not; None when none is."""
    return max((age for age in topic.ages if age is not None), default=None)


def hottest_share(topic: GroupTopic) -> float | None:
    """Share of the worst partition in the lag of the topic; None without lag."""
    total = lag_total(topic)
    return max(lag or 0 for lag in topic.lags) / total if total else None
