"""What a group waits for on a topic, kept whole: while nothing moves, one comparison answers for all partitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from operator import le, lt

from exporter.clients.kafka.record_cache import KEEP, Entry
from exporter.model.kafka_lag import TopicEnds
from exporter.model.record_time import Position

Key = tuple[str, str]  # group, topic
Places = list[tuple[int, int]]  # partition, offset


@dataclass(slots=True)
class _Kept:
    """One group on one topic; all but the last two side by side with `places`."""

    places: Places
    topic_id: bytes
    used: int  # poll
    partitions: tuple[int, ...] = ()
    founds: tuple[int, ...] = ()  # offsets of the records found
    stamps: tuple[float, ...] = ()
    entries: tuple[Entry, ...] = ()
    latest: float = 0.0


class RecordRows:
    """Rows whose records are all known for good. A row is kept when two polls in a row asked the same."""

    def __init__(self) -> None:
        self._kept: dict[Key, _Kept] = {}

    def begin(self, poll: int) -> None:
        """A new poll: forget what is not asked for any more, and keep alive the entries that rows answer for."""
        if poll % KEEP == 0:
            self._kept = {key: row for key, row in self._kept.items() if row.used > poll - KEEP}
            for row in self._kept.values():
                for entry in row.entries:
                    entry.used = row.used

    def stamps(
        self, key: Key, topic_id: bytes, places: Places, ends: TopicEnds, now: float, poll: int
    ) -> tuple[float, ...] | None:
        """Stamps of the records at these places; None when they are not all known, or the log has moved under them."""
        row = self._kept.get(key)
        if row is None or not row.stamps or row.topic_id != topic_id or row.places != places:
            return None
        if not ends.whole or None in ends.stables or row.latest > now:
            return None
        starts, stables = map(ends.starts.__getitem__, row.partitions), map(ends.stables.__getitem__, row.partitions)
        if all(map(le, starts, row.founds)) and all(map(lt, row.founds, stables)):  # type: ignore[arg-type]
            row.used = poll
            return row.stamps
        return None

    def asked(self, key: Key, topic_id: bytes, places: Places, entries: Mapping[Position, Entry], poll: int) -> None:
        """Note what was asked in vain; the second time, the row is kept if all of it is known by now."""
        row = self._kept.get(key)
        if row is None or row.topic_id != topic_id or row.places != places:
            self._kept[key] = _Kept(places, topic_id, poll)
            return
        row.used = poll
        topic = key[1]
        found = [entries.get((topic, partition, offset)) for partition, offset in places]
        known = [entry for entry in found if entry is not None and entry.committed and entry.time is not None]
        if len(known) == len(places) and all(entry.topic_id == topic_id for entry in known):
            row.partitions = tuple(partition for partition, _ in places)
            row.founds = tuple(entry.found for entry in known)
            row.stamps = tuple(entry.time.timestamp or 0.0 for entry in known if entry.time is not None)
            row.entries = tuple(known)
            row.latest = max(row.stamps)
