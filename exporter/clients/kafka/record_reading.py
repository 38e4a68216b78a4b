"""Reads the first visible record at many positions, in rounds of Fetch requests to all leaders at once.

A round asks each partition once, from its lowest open position, and asks for little: most batches are small. Where the
first batch was larger, the next round asks for more, and in the end for the partition alone, since then brokers give at
least one whole batch. What is below the last stable offset is read committed, what is at or above it uncommitted.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from exporter.clients.kafka import codes, fetch
from exporter.clients.kafka.brokers import Brokers, Failure, Request
from exporter.clients.kafka.record_batch import scan
from exporter.clients.kafka.record_cache import Entry, RecordCache
from exporter.clients.kafka.record_compression import RecordError
from exporter.clients.kafka.wire import NO_TOPIC_ID, MalformedError
from exporter.model.common import Kind, Problem
from exporter.model.record_time import Wanted

FIRST_BYTES = 2 * 1024  # asked of a partition whose batches are not known yet
ALONE_FROM = 32 * 1024  # a partition whose batch is larger still is asked alone, and gives just that batch
LIKELY_ALONE = 256 * 1024  # what such an answer is taken to weigh
MOST_BYTES = 1024 * 1024  # asked of a partition with a long stretch of nothing visible
ROUND_BYTES = 64 * 1024, 8 * 1024 * 1024  # of one broker: at least, at most
ROUND_SECONDS = 0.25, 1.0  # a quicker round is followed by a larger one, a slower one by a smaller one


class Unread:
    """One partition with positions whose record is not known yet. `read_in`: the poll in which it was last read."""

    __slots__ = ("alone", "entries", "last_stable", "limit", "read_in", "wanted")

    def __init__(self, wanted: Wanted, read_in: int, limit: int) -> None:
        self.wanted = wanted
        self.read_in = read_in
        self.entries: list[Entry] = []
        self.last_stable = wanted.last_stable
        self.limit = limit
        self.alone = False

    def is_open(self) -> bool:
        """Whether a position is left to read for; the others are let go."""
        self.entries = [e for e in self.entries if e.found < 0 and e.next < self.wanted.high_watermark]
        return bool(self.entries)

    @property
    def offset(self) -> int:
        """Where to read on."""
        entries = self.entries
        return entries[0].next if len(entries) == 1 else min(entry.next for entry in entries)

    def isolation(self) -> int:
        """Committed below the last stable offset, at and above it uncommitted."""
        return fetch.READ_COMMITTED if self.offset < self.last_stable else fetch.READ_UNCOMMITTED

    def ask(self) -> fetch.Ask:
        """The part of a request."""
        wanted = self.wanted
        return fetch.Ask(wanted.topic, wanted.topic_id, wanted.partition, self.offset, self.limit)

    def weight(self) -> int:
        """Bytes that the answer is likely to have."""
        return max(self.limit, LIKELY_ALONE) if self.alone else self.limit

    def take(self, read: fetch.Read, isolation: int) -> int:
        """Move the positions on by what came back; the size of the largest batch. Raises RecordError."""
        committed = isolation == fetch.READ_COMMITTED
        start = self.offset
        entries = [e for e in self.entries if not committed or e.next < self.last_stable]
        result = scan(read.records, start, [e.next for e in entries], read.aborted if committed else ())
        self.last_stable = max(self.last_stable, read.last_stable)
        reached = result.next_offset
        if self.alone and not read.records:
            reached = max(start, read.last_stable if committed else read.high_watermark)  # nothing is left up to there
        for entry in entries:
            record = result.found.get(entry.next)
            if record is None:
                entry.next = max(entry.next, reached)
            elif committed or record[0] >= self.last_stable:
                entry.find(*record, committed)
            # else its transaction has ended since the poll began: the next round reads it committed
        self._adapt(moved=reached > start or bool(result.found))
        return result.largest_batch

    def _adapt(self, moved: bool) -> None:
        """Ask for more next time: where the batch did not fit, or on the way through what is not visible."""
        if moved:
            self.limit, self.alone = min(4 * self.limit, MOST_BYTES), False
        elif self.alone:
            raise RecordError(f"the broker gives no whole batch at offset {self.offset}")
        else:
            self.limit, self.alone = max(self.limit, ALONE_FROM), self.limit >= ALONE_FROM


class Asked(NamedTuple):
    """One request of a round and the partitions in it."""

    version: int
    isolation: int
    unread: Sequence[Unread]

    def request(self) -> Request:
        """The request itself."""
        return fetch.encode(self.version, self.isolation, [unread.ask() for unread in self.unread])


class RecordReading:
    """One pass over unread positions, until all are read, failed, or the deadline (monotonic) has passed."""

    def __init__(self, brokers: Brokers, cache: RecordCache) -> None:
        self._brokers = brokers
        self._cache = cache
        self.failed: Counter[tuple[str, int]] = Counter()  # topic, error code -> partitions
        self.problems: list[Problem] = []
        self.batch_bytes: dict[str, int] = {}  # topic -> the largest batch seen

    def run(self, unread: Iterable[Unread], deadline: float) -> None:
        """Read, longest unread partitions first. Entries are filled in place."""
        queues: dict[int, list[Unread]] = {}
        for item in sorted(unread, key=lambda item: (item.read_in, *by_topic(item))):
            queues.setdefault(item.wanted.leader, []).append(item)
        while queues and time.monotonic() < deadline:
            queues = self._round(queues)

    def _round(self, queues: Mapping[int, list[Unread]]) -> dict[int, list[Unread]]:
        """Ask every leader once; what is still to be read, those that had no turn first."""
        plans = {leader: self._plan(leader, queue) for leader, queue in queues.items()}
        requests = {leader: [asked.request() for asked in plan] for leader, plan in plans.items() if plan}
        started = time.monotonic()
        answers = self._brokers.ask(requests) if requests else {}
        self._adapt(time.monotonic() - started)
        left: dict[int, list[Unread]] = {}
        for leader, answer in answers.items():
            if isinstance(answer, Failure):
                self._broker_failed(leader, answer)
                continue
            plan = plans[leader]
            had_turn = {id(item) for asked in plan for item in asked.unread}
            rest = [item for item in queues[leader] if id(item) not in had_turn]
            for asked, data in zip(plan, answer, strict=True):
                rest += self._take(leader, asked, data)
            if rest:
                left[leader] = rest
        return left

    def _adapt(self, seconds: float) -> None:
        """Ask for as much in one round as the slowest broker, or the line to it, brings in well under a timeout."""
        size = self._cache.round_bytes
        if seconds < ROUND_SECONDS[0]:
            size *= 2
        elif seconds > ROUND_SECONDS[1]:
            size //= 4
        self._cache.round_bytes = min(max(size, ROUND_BYTES[0]), ROUND_BYTES[1])

    def _plan(self, leader: int, queue: Sequence[Unread]) -> list[Asked]:
        """Requests for as many partitions of the queue as one round may bring bytes of."""
        named = self._brokers.version(leader, fetch.FETCH, *fetch.NAMED)
        if named is None:
            failure = self._brokers.failure(leader) or self._brokers.unsupported(leader, "Fetch v11")
            self._broker_failed(leader, failure)
            return []
        identified = self._brokers.version(leader, fetch.FETCH, fetch.IDENTIFIED, fetch.IDENTIFIED)
        shared: dict[tuple[int, int], list[Unread]] = {}
        alone, size = [], 0
        for item in queue:
            if size >= self._cache.round_bytes:
                break
            size += item.weight()
            version = identified if identified and item.wanted.topic_id != NO_TOPIC_ID else named
            if item.alone:
                alone.append(Asked(version, item.isolation(), [item]))
            else:
                shared.setdefault((version, item.isolation()), []).append(item)
        together = [Asked(*key, sorted(items, key=by_topic)) for key, items in shared.items()]
        return together + alone

    def _take(self, leader: int, asked: Asked, data: bytes) -> list[Unread]:
        """Work one answer in; the partitions that are still to be read."""
        try:
            error, answered = fetch.decode(asked.version, data)
        except MalformedError as malformed:
            self._broker_failed(leader, Failure(Kind.PROTOCOL, str(malformed)))
            return []
        if error:
            self._broker_failed(leader, codes.failure(error))
            return []
        left, missing = [], 0
        for item in asked.unread:
            wanted = item.wanted
            topic = wanted.topic_id if asked.version >= fetch.IDENTIFIED else wanted.topic
            read = answered.get((topic, wanted.partition))
            if read is None:
                missing += 1
            elif self._read(item, read, asked.isolation):
                left.append(item)
        if missing:
            words = f"left {missing} partitions out of its answer: is a quota throttling the exporter's client id?"
            self.problems.append(Problem(Kind.TIMEOUT, f"broker {leader}", words))
        return left

    def _read(self, item: Unread, read: fetch.Read, isolation: int) -> bool:
        """Work one partition in; whether it is to be read on."""
        topic = item.wanted.topic
        end = read.last_stable if isolation == fetch.READ_COMMITTED else read.high_watermark
        if read.error or end <= item.offset:
            self.failed[topic, read.error or codes.OFFSET_OUT_OF_RANGE] += 1
            return False
        try:
            self.batch_bytes[topic] = max(item.take(read, isolation), self.batch_bytes.get(topic, 0))
        except RecordError as error:
            self.problems.append(Problem(Kind.PROTOCOL, f"partition {topic}/{item.wanted.partition}", str(error)))
            return False
        self._cache.read_in[by_topic(item)] = self._cache.poll
        return item.is_open()

    def _broker_failed(self, leader: int, failure: Failure) -> None:
        self.problems.append(Problem(failure.kind, f"broker {leader}", failure.detail))


def by_topic(item: Unread) -> tuple[str, int]:
    """Partitions of one topic stand together in a request."""
    return item.wanted.topic, item.wanted.partition


def first_limit(batch_bytes: int) -> int:
    """Bytes to ask of a partition at first, where the topic's batches were seen to have at most so many."""
    return min(max(FIRST_BYTES, batch_bytes), ALONE_FROM)
