"""What is known of records at positions: found ones for good, and how far nothing visible was seen.

Kept for as long as somebody asks: memory is bounded by the positions of the last few polls.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from exporter.model.record_time import Wanted

KEEP = 5  # polls that a position is kept without being asked for


class Entry:
    """One offset: nothing visible lies between it and `next`; `found` is the first visible record's offset, or -1."""

    __slots__ = ("committed", "found", "next", "offset", "stamp", "used")

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self.next = offset
        self.found = -1
        self.stamp = -1  # ms; -1: the record has no timestamp
        self.committed = False  # found among committed records, which is for good
        self.used = 0  # poll

    def find(self, offset: int, stamp: int, committed: bool) -> None:
        """Take the first visible record."""
        self.next, self.found, self.stamp, self.committed = offset, offset, stamp, committed

    def refresh(self, wanted: Wanted) -> None:
        """Drop what the partition's offsets of this poll contradict."""
        if self.found >= wanted.high_watermark or self.next > wanted.high_watermark:
            self.next, self.found = self.offset, -1  # the log was cut back
        elif self.found < wanted.log_start or not (self.committed or self.found >= wanted.last_stable):
            self.found = -1  # retention removed it, or its transaction ended since
        self.next = max(self.next, wanted.log_start)


@dataclass(slots=True)
class CachedPartition:
    """The positions of one partition of one topic id, and the poll in which records of it were last read."""

    topic_id: bytes
    entries: dict[int, Entry] = field(default_factory=dict)
    read_in: int = 0


class RecordCache:
    """Entries by topic, partition and offset; a partition of another topic id starts afresh."""

    def __init__(self) -> None:
        self._partitions: dict[tuple[str, int], CachedPartition] = {}
        self.poll = 0

    def begin(self) -> None:
        """A new poll; every few polls what nobody asks for any more is dropped."""
        self.poll += 1
        if self.poll % KEEP == 0:
            self._sweep()

    def partition(self, wanted: Wanted) -> CachedPartition:
        """The partition of this topic id."""
        key = (wanted.topic, wanted.partition)
        cached = self._partitions.get(key)
        if cached is None or cached.topic_id != wanted.topic_id:
            cached = self._partitions[key] = CachedPartition(wanted.topic_id)
        return cached

    def entry(self, cached: CachedPartition, offset: int) -> Entry:
        """The entry of an offset, marked as asked for in this poll."""
        entry = cached.entries.get(offset)
        if entry is None:
            entry = cached.entries[offset] = Entry(offset)
        entry.used = self.poll
        return entry

    def __len__(self) -> int:
        return sum(len(cached.entries) for cached in self._partitions.values())

    def _sweep(self) -> None:
        oldest = self.poll - KEEP
        for key, cached in list(self._partitions.items()):
            cached.entries = {offset: entry for offset, entry in cached.entries.items() if entry.used > oldest}
            if not cached.entries:
                del self._partitions[key]
