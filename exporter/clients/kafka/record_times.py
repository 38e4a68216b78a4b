"""Ages of Kafka records at committed offsets: read exactly where that can be done in time, estimated elsewhere.

Nothing is consumed from a group, created, or read from remote storage. One poll calls `begin`, then `observe` for each
topic whose ends it read, then `find`; `find` may be called again for other positions of the same poll.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from exporter.clients.kafka import codes
from exporter.clients.kafka.brokers import Brokers
from exporter.clients.kafka.record_cache import Entry, RecordCache
from exporter.clients.kafka.record_probe import sharpen
from exporter.clients.kafka.record_reading import RecordReading, Unread, first_limit
from exporter.clients.kafka.record_rows import RecordRows
from exporter.clients.kafka.wire import printable
from exporter.model.common import Problem
from exporter.model.estimate import Bracket, History, good
from exporter.model.kafka_lag import TopicEnds
from exporter.model.record_time import CAUGHT_UP, Position, RecordTime, Wanted

DENIED = 29  # TOPIC_AUTHORIZATION_FAILED
ASK_DENIED_AGAIN = 20  # polls
READING_SHARE = 0.75  # of the time budget; the rest is for sharpening estimates of what was not reached
FLEETING = frozenset({1, 3, 100, 103})  # the log moved or the topic was deleted since the poll began: not yet a problem


class RecordTimes:
    """The ages of one cluster's records: the cache of what was read, and the history that estimates come from.

    `interval` and `budget` (of one poll) in seconds; `exact` False never reads a record. `problems` and `skipped`
    (reason -> positions without an answer) are of the last poll.
    """

    def __init__(self, interval: float, budget: float, exact: bool = True) -> None:
        self.problems: list[Problem] = []
        self.skipped: Counter[str] = Counter()
        self._exact = exact
        self._budget = budget
        self._cache = RecordCache()
        self._rows = RecordRows()
        self._interval = interval
        self._history = History(interval)
        self._batch_bytes: dict[str, int] = {}  # topic -> largest batch that the last reading saw
        self._denied: dict[str, tuple[int, Problem]] = {}  # topic -> poll in which to try again, why not before
        self._fleeting: tuple[set[str], set[str]] = (set(), set())  # topics that moved in this poll, in the last

    def begin(self) -> None:
        """A new poll."""
        self._rows.begin(self._cache.poll + 1)
        self._cache.begin()
        self._history.begin()
        self._fleeting = (set(), self._fleeting[0])
        self._denied = {topic: why for topic, why in self._denied.items() if why[0] > self._cache.poll}
        self.problems, self.skipped = [problem for _, problem in self._denied.values()], Counter()

    def observe(
        self, topic: str, topic_id: bytes, ends: Mapping[int, tuple[int, int]], before: float, after: float
    ) -> None:
        """Take a topic's ends (partition -> log start, high watermark), read between two moments (unix seconds)."""
        self._history.observe(topic, topic_id, ends, before, after)

    def recall(
        self, group: str, topic: str, topic_id: bytes, places: list[tuple[int, int]], ends: TopicEnds
    ) -> tuple[float, ...] | None:
        """Stamps of the records at the places (partition, offset), when nothing moved since they were read.

        None: ask `find`. In most polls that is all there is to do for most of up to 100,000 places.
        """
        key, poll = (group, topic), self._cache.poll
        known = self._rows.stamps(key, topic_id, places, ends, time.time(), poll)
        if known is None:
            self._rows.asked(key, topic_id, places, self._cache.entries, poll)
        return known

    def find(
        self, wanted: Collection[Wanted], brokers: Brokers, budget: float | None = None
    ) -> dict[Position, RecordTime]:
        """When the first visible record at or after each position was stamped.

        Positions at the high watermark, or with nothing visible behind them, are caught up. One that is missing from
        the answer is beyond the end, or unknown: then it counts in `skipped`, and what hindered it is in `problems`.
        To learn when the oldest open transaction of a partition began, ask for its last stable offset. Takes `budget`
        seconds at most, and one request's timeout more when a broker hangs.
        """
        started = time.monotonic()
        budget = self._budget if budget is None else budget
        times, unread, unknown = self._look_up(wanted)
        if unread:
            reading = RecordReading(brokers, self._cache)
            reading.run([item for item, _ in unread.values()], started + READING_SHARE * budget)
            self._report(reading)
            for _, positions in unread.values():
                self._settle(positions, times, unknown)
        if unknown:
            self._estimate(unknown, times, brokers, started + budget)
        return times

    def state(self) -> dict[str, Any]:
        """The history as JSON values."""
        return self._history.state()

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take back what `state` gave; what doesn't fit is left out."""
        self._history.restore(state)

    def _look_up(self, wanted: Collection[Wanted]) -> tuple[dict[Position, RecordTime], _Unread, list[_Sought]]:
        """(what is known already, what to read, what can only be estimated). The first lines are the hot ones."""
        times: dict[Position, RecordTime] = {}
        unread: _Unread = {}
        unknown: list[_Sought] = []
        entries, poll = self._cache.entries, self._cache.poll
        for sought in wanted:
            topic, topic_id, partition, offset, log_start, end, stable, *_ = sought
            position = (topic, partition, offset)
            entry = entries.get(position)
            if (
                entry is not None
                and entry.committed
                and log_start <= entry.found < stable
                and entry.topic_id == topic_id
            ) and entry.time is not None:
                entry.used = poll
                times[position] = entry.time
                continue
            if offset >= end:
                if offset == end:
                    times[position] = CAUGHT_UP
                continue
            entry = self._cache.entry(sought)
            known = entry.known(end)
            if known is not None:
                times[position] = known
            elif self._may_read(sought, entry):
                self._add_unread(unread, sought, entry)
            else:
                unknown.append((sought, entry))
        return times, unread, unknown

    def _may_read(self, position: Wanted, entry: Entry) -> bool:
        readable = self._exact and position.readable and position.leader >= 0 and position.topic not in self._denied
        return readable and entry.found < 0  # what was found and is yet unknown has no timestamp

    def _add_unread(self, unread: _Unread, position: Wanted, entry: Entry) -> None:
        key = (position.topic, position.partition)
        if key not in unread:
            limit = first_limit(self._batch_bytes.get(position.topic, 0))
            unread[key] = (Unread(position, self._cache.read_in.get(key, 0), limit), [])
        item, sought = unread[key]
        item.entries.append(entry)
        sought.append((position, entry))

    def _settle(self, sought: list[_Sought], times: dict[Position, RecordTime], unknown: list[_Sought]) -> None:
        """Sort what was to be read into what is known now and what isn't."""
        for position, entry in sought:
            known = entry.known(position.high_watermark)
            if known is None:
                unknown.append((position, entry))
            else:
                times[position.topic, position.partition, position.offset] = known

    def _estimate(
        self, unknown: list[_Sought], times: dict[Position, RecordTime], brokers: Brokers, deadline: float
    ) -> None:
        """Estimate from the history, which is sharpened first where it needs it and brokers may be asked.

        An estimate that is too wide is withheld: its middle could raise an alarm that nothing stands behind.
        """
        now = time.time()
        vague = [
            position._replace(offset=entry.next)
            for position, entry in unknown
            if not position.remote
            and position.leader >= 0
            and not good(self._bracket(position, entry), now, self._interval)
        ]
        if vague:
            sharpen(self._history, vague, brokers, now, deadline)
        for position, entry in unknown:
            bracket = self._bracket(position, entry)
            estimate = bracket.time()
            if estimate is not None and good(bracket, now, self._interval):
                times[position.topic, position.partition, position.offset] = estimate
            elif position.remote:
                self.skipped["age_in_remote_storage"] += 1
            else:
                self.skipped["age_unknown" if estimate is None else "age_too_uncertain"] += 1

    def _bracket(self, position: Wanted, entry: Entry) -> Bracket:
        return self._history.bracket(position.topic, position.topic_id, position.partition, entry.next)

    def _report(self, reading: RecordReading) -> None:
        """Turn what hindered a reading into problems; a log that only just moved is none yet."""
        self.problems += reading.problems
        self._batch_bytes = reading.batch_bytes or self._batch_bytes
        for (topic, code), count in sorted(reading.failed.items()):
            failure = codes.failure(code)
            problem = Problem(failure.kind, f"topic {printable(topic)}", f"{count} partitions: {failure.detail}")
            if code == DENIED:
                self._denied[topic] = (self._cache.poll + ASK_DENIED_AGAIN, problem)
            if code in FLEETING:
                self._fleeting[0].add(topic)
            if code not in FLEETING or topic in self._fleeting[1]:
                self.problems.append(problem)


_Sought = tuple[Wanted, Entry]
_Unread = dict[tuple[str, int], tuple[Unread, list[_Sought]]]
