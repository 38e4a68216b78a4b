"""When a queue's oldest message arrived, told from how its depth and counters moved: an estimate with its bound.

A queue is taken to be first in, first out. Then a message is gone once as many messages have left as the queue held
when it was last in; it is still there while fewer have. So each poll that was followed by enough departures puts the
arrival of what is oldest now after it, and each poll that was followed by too few puts it before.

Departures are known within limits. At least as many left as were acknowledged, as the depth fell, and as were published
beyond the depth's growth. At most as many left as were delivered (where neither TTL nor length limit removes messages),
and as were published less the depth's growth (where all that arrives is counted, so not in a dead-letter queue).

Not seen: a message that a consumer holds while later ones are acknowledged, or that is requeued behind later ones; a
purge with as many arrivals between two polls. The broker's statistics are up to `SKEW` old, each in its own way: so
counters are compared with those of a poll that much earlier or later.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import pairwise
from math import inf, isfinite, nan
from typing import Any, NamedTuple

SKEW = 8.0  # seconds: queues, channels and quorum leaders emit statistics every 5 s, and a listing may take 3 s
THIN = 0.07  # gaps between kept samples may grow to this share of their age
MOST_SAMPLES = 256
SHARE, INTERVALS = 0.1, 2  # what a bound may be: a tenth of the age, or two intervals


class Seen(NamedTuple):
    """One poll of one queue. Counters only grow; None is unknown. `epoch` changes when counting was interrupted."""

    at: float  # unix seconds
    depth: int  # ready and unacknowledged
    unacknowledged: int
    departed: int | None = None
    delivered: int | None = None
    published: int | None = None
    epoch: int = 0


class Sample(NamedTuple):
    """One kept poll. `_before` and `_after` are counters of the nearest polls at least `SKEW` away; NaN is unknown."""

    at: float
    depth: float
    unacknowledged: float
    departed: float
    delivered: float
    published: float
    epoch: float
    delivered_before: float = nan
    published_before: float = nan
    epoch_before: float = nan
    departed_after: float = nan
    published_after: float = nan


WIDTH = len(Sample._fields)


class Estimate(NamedTuple):
    """The oldest message arrived after `after` (None: no poll reaches back that far) and not after `before`."""

    after: float | None
    before: float


class History:
    """What one queue's polls told. Memory is bounded: samples thin out with age."""

    __slots__ = ("after", "rows")

    def __init__(self) -> None:
        self.rows = array("d")
        self.after: float | None = None  # what is oldest now came in after this; never goes back

    def samples(self) -> list[Sample]:
        """Oldest first."""
        return [Sample(*self.rows[at : at + WIDTH]) for at in range(0, len(self.rows), WIDTH)]

    def add(self, seen: Seen) -> None:
        """Take one poll. Polls come in the order of time; one that does not is left out."""
        if self.rows and seen.at <= self.rows[-WIDTH]:
            return
        if self._goes_on(seen):
            self.rows[-WIDTH] = seen.at
            self.after = seen.at - SKEW if seen.depth == 0 else self.after
            return
        new = Sample(*(nan if value is None else float(value) for value in seen))
        samples = joined(self.samples(), new)
        self.after = floor(samples, self.after)
        kept = thinned(forgotten(samples, self.after))
        self.rows = array("d", (value for sample in kept for value in sample))

    def _goes_on(self, seen: Seen) -> bool:
        """Whether nothing has changed for so long that the last sample may stand for this poll, too. Cheap, and usual.

        What is compared with later polls is the start of the stretch and its end.
        """
        rows, start = self.rows, len(self.rows) - 4 * WIDTH
        if start < 0 or rows[-WIDTH] - rows[start] < 3 * SKEW:
            return False
        same = seen[1:]
        return all(tuple(rows[at + 1 : at + 7]) == same for at in range(start, len(rows), WIDTH))

    def estimate(self, arrivals_counted: bool, departures_by_consumers: bool) -> Estimate | None:
        """None when the queue is empty or was never seen.

        `arrivals_counted`: whatever arrives is published (nothing is dead-lettered into the queue).
        `departures_by_consumers`: messages leave only through consumers and gets (no TTL, no length limit).
        """
        if not self.rows or self.rows[1 - WIDTH] == 0:
            return None
        return Estimate(self.after, ceiling(self.samples(), arrivals_counted, departures_by_consumers))

    def state(self) -> list[Any]:
        """JSON values; NaN, which JSON has not, becomes None."""
        return [self.after, [None if value != value else value for value in self.rows]]

    @classmethod
    def restored(cls, state: Sequence[Any]) -> History:
        """Take back what `state` gave. Raises ValueError or TypeError when it is no history."""
        after, rows = state
        history = cls()
        history.rows = array("d", (nan if value is None else float(value) for value in rows))
        history.after = None if after is None else float(after)
        moments = [sample.at for sample in history.samples()] if len(rows) % WIDTH == 0 else [nan]
        if any(moment != moment for moment in moments) or moments != sorted(moments):
            raise ValueError("samples must come in the order of time")
        return history


def age_of(estimate: Estimate, now: float, interval: float) -> tuple[float, float] | None:
    """Age and error bound in seconds, or None when the bound is wider than promised."""
    if estimate.after is None:
        return None
    youngest, oldest = max(now - estimate.before, 0.0), now - estimate.after
    if oldest < youngest:
        return None
    age, bound = (youngest + oldest) / 2, (oldest - youngest) / 2
    return (age, bound) if bound <= max(INTERVALS * max(interval, SKEW), SHARE * age) else None


def joined(samples: list[Sample], new: Sample) -> list[Sample]:
    """The samples with one more, each with the counters of the polls around it as far as they are there by now."""
    base = next((sample for sample in reversed(samples) if sample.at <= new.at - SKEW), None)
    if base is not None:
        new = new._replace(delivered_before=base.delivered, published_before=base.published, epoch_before=base.epoch)
    for at in range(len(samples) - 1, -1, -1):
        waiting = samples[at]
        if waiting.departed_after == waiting.departed_after or waiting.published_after == waiting.published_after:
            break
        if waiting.at <= new.at - SKEW:
            samples[at] = waiting._replace(departed_after=new.departed, published_after=new.published)
    return [*samples, new]


def floor(samples: Sequence[Sample], known: float | None) -> float | None:
    """The latest moment after which what is oldest now surely arrived."""
    last = samples[-1]
    for sample in reversed(samples):
        if known is not None and sample.at - SKEW <= known:
            break
        if left_at_least(sample, last) >= sample.depth:
            return sample.at - SKEW
    return known


def left_at_least(first: Sample, last: Sample) -> float:
    """Messages that surely left between two samples."""
    least = max(first.depth - last.depth, 0.0)
    acknowledged = last.departed - first.departed_after
    expired = last.published_before - first.published_after - (last.depth - first.depth)
    for counted in (acknowledged, expired):
        if counted > least:  # never true of NaN
            least = counted
    return least


def ceiling(samples: Sequence[Sample], arrivals_counted: bool, by_consumers: bool) -> float:
    """The earliest moment at which what is oldest now surely was there: the last sample, or an earlier one."""
    last = samples[-1]
    delivered, published = (hidden(samples, name) for name in ("delivered", "published"))
    published = max(published, unseen(samples))
    for sample in samples[:-1]:
        if sample.epoch_before != last.epoch:
            continue
        limits = []
        if by_consumers:
            left = last.delivered - sample.delivered_before + delivered
            limits.append(left + sample.unacknowledged - last.unacknowledged)
        if arrivals_counted:
            limits.append(last.published - sample.published_before + published + sample.depth - last.depth)
        least = left_at_least(sample, last)
        most = min((limit for limit in limits if isfinite(limit) and limit >= least), default=inf)
        if sample.depth > most:  # a limit below what surely left is contradicted, so it is none
            return sample.at
    return last.at


def hidden(samples: Sequence[Sample], counter: str) -> float:
    """What statistics may not show yet: as much as came at the fastest lately."""
    recent = samples[-4:]
    rates = [
        (getattr(later, counter) - getattr(earlier, counter)) / (later.at - earlier.at)
        for earlier, later in pairwise(recent)
    ]
    return SKEW * max((rate for rate in rates if isfinite(rate)), default=0.0)


def unseen(samples: Sequence[Sample]) -> float:
    """What the depth grew by and `published` does not show yet; NaN is taken for nothing."""
    last, previous = samples[-1], samples[max(len(samples) - 2, 0)]
    missing = (last.depth - previous.depth) - (last.published - previous.published)
    return missing if missing > 0 else 0.0


def forgotten(samples: list[Sample], after: float | None) -> list[Sample]:
    """Without what is too old to matter: what is oldest now arrived later. The last one before is kept."""
    if after is None:
        return samples
    needed = next((at for at, sample in enumerate(samples) if sample.at > after), len(samples) - 1)
    base = next((at for at in range(needed, -1, -1) if samples[at].at <= samples[needed].at - SKEW), 0)
    return samples[base:]


def thinned(samples: list[Sample]) -> list[Sample]:
    """Without samples inside a stretch of no change, and without those whose neighbours are close for their age."""
    now = samples[-1].at
    kept: list[Sample] = []
    for at, sample in enumerate(samples):
        needed = at in {0, 1, len(samples) - 1} or len(samples) - at <= 5 or sample.at > now - 3 * SKEW
        following = samples[min(at + 1, len(samples) - 1)]
        if needed or following.at - kept[-1].at > max(THIN * (now - following.at), SKEW):
            kept.append(sample)
    return kept[:2] + kept[2:][2 - MOST_SAMPLES :]
