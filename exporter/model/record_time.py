"""What is asked about the age of Kafka records, and what is answered."""

from __future__ import annotations

from typing import NamedTuple

Position = tuple[str, int, int]  # topic, partition, offset


class Wanted(NamedTuple):
    """One offset of one partition whose first visible record at or after it has an age to be known.

    All offsets are the partition's as read in this poll. `topic_id` is 16 zero bytes where the broker has none.
    `readable` is False where no record may be read for it (remote storage, no right): its age is estimated. `remote`
    tells that a part of the partition's log is in remote storage: there brokers aren't asked for offsets by timestamp.
    A tuple and not a dataclass: a poll makes up to 100,000 of them.
    """

    topic: str
    topic_id: bytes
    partition: int
    offset: int
    log_start: int
    high_watermark: int
    last_stable: int
    leader: int
    readable: bool = True
    remote: bool = False


class RecordTime(NamedTuple):
    """When the first visible record at or after an offset was stamped.

    `timestamp` in unix seconds by the clock of the producer (CreateTime) or the broker (LogAppendTime); None: nothing
    visible is left, caught up. `error_bound` in seconds, the true time is within timestamp ± bound; None: exact.
    """

    timestamp: float | None
    error_bound: float | None = None


CAUGHT_UP = RecordTime(None, None)
