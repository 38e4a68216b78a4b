"""What is known of records at positions: found ones for good, and how far nothing visible was seen.

Kept for as long as somebody asks: memory is bounded by the positions of the last few polls.
"""

from __future__ import annotations

from exporter.model.record_time import CAUGHT_UP, Position, RecordTime, Wanted

KEEP = 5  # polls that a position is kept without being asked for
FIRST_ROUND_BYTES = 2 * 1024 * 1024


class Entry:
    """One offset: nothing visible lies between it and `next`; `found` is the first visible record's offset, or -1."""

    __slots__ = ("committed", "found", "next", "offset", "time", "topic_id", "used")

    def __init__(self, topic_id: bytes, offset: int) -> None:
        self.topic_id = topic_id
        self.offset = offset
        self.next = offset
        self.found = -1
        self.time: RecordTime | None = None  # of the record found; None: it has no timestamp
        self.committed = False  # found among committed records, which is for good
        self.used = 0  # poll

    def find(self, offset: int, stamp: int, committed: bool) -> None:
        """Take the first visible record, stamped so many ms after the epoch; -1: not stamped."""
        self.next, self.found, self.committed = offset, offset, committed
        self.time = RecordTime(stamp / 1000) if stamp >= 0 else None

    def refresh(self, wanted: Wanted) -> None:
        """Drop what the partition's offsets of this poll contradict."""
        if self.found >= wanted.high_watermark or self.next > wanted.high_watermark:
            self.next, self.found = self.offset, -1  # the log was cut back
        elif self.found < wanted.log_start or not (self.committed or self.found >= wanted.last_stable):
            self.found = -1  # retention removed it, or its transaction ended since
        self.next = max(self.next, wanted.log_start)

    def known(self, end: int) -> RecordTime | None:
        """What is known of a log that ended at `end` when the poll read it."""
        if self.next >= end:
            return CAUGHT_UP
        return self.time if self.found >= 0 else None


class RecordCache:
    """Entries by topic, partition and offset, and the poll in which records of a partition were last read.

    `round_bytes` is how much may be asked of a broker at once, as was found out so far.
    """

    def __init__(self) -> None:
        self.entries: dict[Position, Entry] = {}
        self.read_in: dict[tuple[str, int], int] = {}
        self.poll = 0
        self.round_bytes = FIRST_ROUND_BYTES

    def begin(self) -> None:
        """A new poll; every few polls what nobody asks for any more is dropped."""
        self.poll += 1
        if self.poll % KEEP == 0:
            oldest = self.poll - KEEP
            self.entries = {position: entry for position, entry in self.entries.items() if entry.used > oldest}
            asked = {(topic, partition) for topic, partition, _ in self.entries}
            self.read_in = {key: poll for key, poll in self.read_in.items() if key in asked}

    def entry(self, wanted: Wanted) -> Entry:
        """The entry of a position, as far as this poll's offsets let it stand; another topic id starts afresh."""
        position = (wanted.topic, wanted.partition, wanted.offset)
        entry = self.entries.get(position)
        if entry is None or not same_topic(entry, wanted):
            entry = self.entries[position] = Entry(wanted.topic_id, wanted.offset)
        entry.used = self.poll
        entry.refresh(wanted)
        return entry


def same_topic(entry: Entry, wanted: Wanted) -> bool:
    """Whether the entry is of the topic that has this name now."""
    return entry.topic_id == wanted.topic_id
