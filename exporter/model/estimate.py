"""When the record at an offset was written, told from how a partition's end moved: an estimate with its error bound.

Each poll saw an end (high watermark) between two moments. A record below that end was there by the later moment; one
at or above it was not yet readable at the earlier one. So a record's time lies between the last poll that did not have
it and the first that did, and the bound is half of that. Times are the exporter's, and of becoming readable: a producer
that stamps records long before it sends them, or with a clock of its own, is not seen in such an estimate.

Where polls don't reach back, brokers can be asked which offset is the first stamped at or after a moment. That takes
the stamps as they are, and takes them to grow along the log.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import sqrt
from typing import Any, NamedTuple

from exporter.model.record_time import RecordTime

STAMP = 0.001  # seconds: a record's stamp is in whole milliseconds
READABLE_AFTER = 1.0  # seconds from a record's stamp to its being below the high watermark, on a healthy cluster
SHARE = 0.1  # of the age: what a bound may grow to
INTERVALS = 2  # a bound up to that many polls is fine at any age
THIN_FROM = 48  # points of one partition
MOST_POINTS = 512
FORGET_AFTER = 3  # polls without the topic
OLDEST = 10 * 365 * 86400.0  # seconds: no older moment is asked for
MOST_PROBES = 256  # of one partition


class Bracket(NamedTuple):
    """A record's time, unix seconds, is at or after `low` and at or before `high`; None is unknown."""

    low: float | None
    high: float | None

    def meet(self, other: Bracket) -> Bracket:
        """What both say. When they contradict each other, this one."""
        low = max((edge for edge in (self.low, other.low) if edge is not None), default=None)
        high = min((edge for edge in (self.high, other.high) if edge is not None), default=None)
        return self if low is not None and high is not None and low > high else Bracket(low, high)

    def time(self) -> RecordTime | None:
        """The middle, with half the width as its bound; None where an edge is unknown."""
        if self.low is None or self.high is None:
            return None
        return RecordTime((self.low + self.high) / 2, max(self.high - self.low, 0.0) / 2 + STAMP)


def good(bracket: Bracket, now: float, interval: float) -> bool:
    """Whether an estimate is as sharp as promised: two intervals or a tenth of the age, whichever is more."""
    time = bracket.time()
    if time is None or time.timestamp is None or time.error_bound is None:
        return False
    return time.error_bound <= max(INTERVALS * interval, SHARE * (now - time.timestamp))


def moment_to_ask(bracket: Bracket, now: float, interval: float) -> float | None:
    """The moment that halves what is unknown of an age, on a scale of ratios; None where asking won't help.

    From one interval to ten years, seven answers leave a tenth of the age.
    """
    high = now if bracket.high is None else min(bracket.high, now)
    low = now - OLDEST if bracket.low is None else bracket.low
    youngest, oldest = max(now - high, interval), now - low
    return now - sqrt(youngest * oldest) if oldest > 1.01 * youngest else None


class Probes:
    """Answers to "which offset is the first stamped at or after this moment?" of one partition."""

    __slots__ = ("asked", "offsets", "stamps")

    def __init__(self) -> None:
        self.offsets = array("q")  # sorted
        self.asked = array("d")  # records below the offset are older than this moment
        self.stamps = array("d")  # records from the offset on are not older than this one

    def add(self, moment: float, offset: int, stamp: float) -> None:
        """Take one answer: the first record stamped at or after `moment` has this offset and stamp."""
        at = bisect_left(self.offsets, offset)
        if at < len(self.offsets) and self.offsets[at] == offset:
            self.asked[at] = min(self.asked[at], moment)
            self.stamps[at] = max(self.stamps[at], stamp)
            return
        self.offsets.insert(at, offset)
        self.asked.insert(at, moment)
        self.stamps.insert(at, stamp)
        if len(self.offsets) > MOST_PROBES:
            self.drop(MOST_PROBES // 2)

    def bracket(self, offset: int) -> Bracket:
        """When the record at this offset was stamped."""
        at = bisect_right(self.offsets, offset)
        low = self.stamps[at - 1] if at else None
        return Bracket(low, self.asked[at] if at < len(self.offsets) else None)

    def drop(self, count: int) -> None:
        """Forget the answers about the oldest records."""
        del self.offsets[:count], self.asked[:count], self.stamps[:count]


class PartitionHistory:
    """The ends that one partition has had: for each end when it was first seen and when it was still the end."""

    __slots__ = ("ends", "probes", "seen", "still")

    def __init__(self) -> None:
        self.ends = array("q")
        self.seen = array("d")
        self.still = array("d")
        self.probes: Probes | None = None

    def add(self, end: int, before: float, after: float, interval: float) -> None:
        """Take the end as read between two moments. An end that went back is another log: the past is forgotten."""
        if self.ends and end < self.ends[-1]:
            self.clear()
        if self.ends and end == self.ends[-1]:
            self.still[-1] = max(before, self.still[-1])
            return
        self.ends.append(end)
        self.seen.append(after)
        self.still.append(before)
        if len(self.ends) >= THIN_FROM and len(self.ends) % (THIN_FROM // 4) == 0:
            self.thin(after, interval)

    def bracket(self, offset: int) -> Bracket:
        """When the record at this offset was written."""
        at = bisect_right(self.ends, offset)  # the first end above it
        low = self.still[at - 1] - READABLE_AFTER if at else None
        polled = Bracket(low, self.seen[at] if at < len(self.ends) else None)
        return polled if self.probes is None else polled.meet(self.probes.bracket(offset))

    def thin(self, now: float, interval: float) -> None:
        """Drop points that can be missed without any bound growing past what `good` allows, now or later."""
        kept = [len(self.ends) - 1]
        for at in range(len(self.ends) - 2, 0, -1):
            high, low = self.seen[kept[-1]], self.still[at - 1] - READABLE_AFTER
            if (high - low) / 2 > max(INTERVALS * interval, SHARE * (now - high)):
                kept.append(at)
        kept.append(0)
        kept = kept[:MOST_POINTS][::-1]
        self.ends = array("q", (self.ends[at] for at in kept))
        self.seen = array("d", (self.seen[at] for at in kept))
        self.still = array("d", (self.still[at] for at in kept))

    def forget_below(self, log_start: int) -> None:
        """Drop points that only tell about records which retention has removed."""
        stale = bisect_right(self.ends, log_start) - 1
        if stale > 0:
            del self.ends[:stale], self.seen[:stale], self.still[:stale]
        if self.probes is not None:
            self.probes.drop(max(bisect_right(self.probes.offsets, log_start) - 1, 0))

    def clear(self) -> None:
        """Forget everything."""
        del self.ends[:], self.seen[:], self.still[:]
        self.probes = None


class History:
    """The histories of all partitions of a cluster; memory is bounded by their number."""

    def __init__(self, interval: float) -> None:
        self.interval = interval
        self._topics: dict[str, tuple[bytes, dict[int, PartitionHistory]]] = {}
        self._polls = 0
        self._observed: dict[str, int] = {}

    def begin(self) -> None:
        """A new poll: topics that were not seen in some polls are forgotten."""
        self._polls += 1
        for topic in [name for name, poll in self._observed.items() if self._polls - poll > FORGET_AFTER]:
            del self._observed[topic], self._topics[topic]

    def observe(
        self, topic: str, topic_id: bytes, ends: Mapping[int, tuple[int, int]], before: float, after: float
    ) -> None:
        """Take a topic's ends (partition -> log start, high watermark), read between two moments.

        Another topic id is another topic.
        """
        known, partitions = self._topics.get(topic, (topic_id, {}))
        if known != topic_id:
            partitions = {}
        self._topics[topic] = (topic_id, partitions)
        self._observed[topic] = self._polls
        for partition, (log_start, end) in ends.items():
            history = partitions.get(partition)
            if history is None:
                history = partitions[partition] = PartitionHistory()
            history.add(end, before, after, self.interval)
            if len(history.ends) > 1 and history.ends[1] <= log_start:
                history.forget_below(log_start)

    def bracket(self, topic: str, topic_id: bytes, partition: int, offset: int) -> Bracket:
        """When the record at this offset was written, as far as the polls tell."""
        known, partitions = self._topics.get(topic, (topic_id, {}))
        history = partitions.get(partition)
        return history.bracket(offset) if history is not None and known == topic_id else Bracket(None, None)

    def probed(self, topic: str, topic_id: bytes, partition: int, moment: float, offset: int, stamp: float) -> None:
        """Take a broker's answer: the first record stamped at or after `moment`. Of observed partitions only."""
        known, partitions = self._topics.get(topic, (topic_id, {}))
        history = partitions.get(partition)
        if history is None or known != topic_id:
            return
        if history.probes is None:
            history.probes = Probes()
        history.probes.add(moment, offset, stamp)

    def state(self) -> dict[str, Any]:
        """All that polls told, as JSON values."""
        return {
            topic: {
                "id": topic_id.hex(),
                "partitions": {str(p): [list(h.ends), list(h.seen), list(h.still)] for p, h in partitions.items()},
            }
            for topic, (topic_id, partitions) in self._topics.items()
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take back what `state` gave; what doesn't fit is left out."""
        for topic, saved in state.items():
            try:
                topic_id = bytes.fromhex(saved["id"])
                partitions = {int(p): restored(points) for p, points in saved["partitions"].items()}
            except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
                continue
            if topic not in self._topics:
                self._topics[topic] = (topic_id, partitions)
                self._observed[topic] = self._polls


def restored(points: Sequence[Sequence[float]]) -> PartitionHistory:
    """A history from its three lists. Raises ValueError or TypeError when they are no history."""
    history = PartitionHistory()
    ends, seen, still = points
    history.ends, history.seen, history.still = array("q", ends), array("d", seen), array("d", still)  # type: ignore[arg-type]
    if not len(ends) == len(seen) == len(still):
        raise ValueError("three lists of one length are needed")
    if any(later <= earlier for earlier, later in pairwise(ends)):
        raise ValueError("ends must grow")
    return history
