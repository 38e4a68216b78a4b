"""A row of records is remembered as a whole, and believed only while nothing has moved under it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from exporter.clients.kafka.record_cache import KEEP, Entry, RecordCache
from exporter.clients.kafka.record_rows import RecordRows
from exporter.clients.kafka.record_times import RecordTimes
from exporter.model.kafka_lag import Commits, Counters, TopicEnds, group_topic, raw_lags
from exporter.model.record_time import RecordTime
from tests.unit.kafka_records.scripted_brokers import ScriptedBrokers
from tests.unit.kafka_records.test_record_reading import log_of, simple

ID, KEY, NOW = b"0123456789abcdef", ("billing", "orders"), 1000.0
PLACES = [(0, 3), (2, 7)]


def ends(**changes: int) -> TopicEnds:
    made = TopicEnds([0, 0, 0], [10, 10, 10], [10, 10, 10], whole=True)
    for name, value in changes.items():
        getattr(made, name)[0] = value
    return made


def entry(offset: int, stamp: int) -> Entry:
    made = Entry(ID, offset)
    made.find(offset, stamp, committed=True)
    return made


def kept() -> tuple[RecordRows, dict[tuple[str, int, int], Entry]]:
    entries = {("orders", 0, 3): entry(3, 100_000), ("orders", 2, 7): entry(7, 200_000)}
    rows = RecordRows()
    for poll in (1, 2):
        rows.asked(KEY, ID, list(PLACES), entries, poll)
    return rows, entries


def test_a_row_is_known_from_the_third_poll_on() -> None:
    rows, entries = RecordRows(), kept()[1]
    for expected in (None, None, (100.0, 200.0)):
        assert expected == rows.stamps(KEY, ID, list(PLACES), ends(), NOW, 3)
        if expected is None:
            rows.asked(KEY, ID, list(PLACES), entries, 3)


@pytest.mark.parametrize(
    "ask",
    [
        lambda rows: rows.stamps(("other", "orders"), ID, PLACES, ends(), NOW, 3),
        lambda rows: rows.stamps(KEY, bytes(16), PLACES, ends(), NOW, 3),
        lambda rows: rows.stamps(KEY, ID, [(0, 4), (2, 7)], ends(), NOW, 3),
        lambda rows: rows.stamps(KEY, ID, PLACES, ends(starts=4), NOW, 3),
        lambda rows: rows.stamps(KEY, ID, PLACES, ends(stables=3), NOW, 3),
        lambda rows: rows.stamps(KEY, ID, PLACES, TopicEnds([0] * 3, [10] * 3, [10] * 3), NOW, 3),
        lambda rows: rows.stamps(KEY, ID, PLACES, TopicEnds([0] * 3, [None, 10, 10], [10] * 3, True), NOW, 3),
        lambda rows: rows.stamps(KEY, ID, PLACES, ends(), 199.0, 3),
    ],
    ids=["group", "topic id", "commit", "retention", "transaction", "ends unknown", "no stable end", "future"],
)
def test_what_has_moved_is_asked_for_again(ask: Callable[[RecordRows], tuple[float, ...] | None]) -> None:
    rows, _ = kept()
    assert (100.0, 200.0) == rows.stamps(KEY, ID, PLACES, ends(), NOW, 3)
    assert ask(rows) is None


@pytest.mark.parametrize("change", ["uncommitted", "unstamped", "missing", "other topic"])
def test_a_row_with_anything_unknown_is_not_kept(change: str) -> None:
    _, entries = kept()
    if change == "uncommitted":
        entries["orders", 0, 3].committed = False
    elif change == "unstamped":
        entries["orders", 0, 3].time = None
    elif change == "missing":
        del entries["orders", 0, 3]
    else:
        entries["orders", 0, 3].topic_id = bytes(16)
    rows = RecordRows()
    for poll in (1, 2, 3):
        rows.asked(KEY, ID, list(PLACES), entries, poll)
    assert rows.stamps(KEY, ID, PLACES, ends(), NOW, 4) is None


def test_rows_keep_their_records_in_memory_and_are_forgotten_when_nobody_asks() -> None:
    rows, entries = kept()
    cache = RecordCache()
    cache.entries = dict(entries)
    for poll in range(3, 4 * KEEP):
        rows.begin(poll)
        cache.poll = poll - 1
        cache.begin()
        assert (100.0, 200.0) == rows.stamps(KEY, ID, PLACES, ends(), NOW, poll)
    assert entries.keys() == cache.entries.keys()
    for poll in range(4 * KEEP, 7 * KEEP):
        rows.begin(poll)
        cache.poll = poll - 1
        cache.begin()
    assert {} == cache.entries
    assert rows.stamps(KEY, ID, PLACES, ends(), NOW, 7 * KEEP) is None


def test_what_is_recalled_is_what_was_found_and_asks_nothing() -> None:
    brokers = ScriptedBrokers({0: log_of(simple()), 2: log_of(simple())})
    times = RecordTimes(interval=15, budget=5)
    places = [(0, 3), (2, 7)]
    answers = []
    for _ in range(3):
        times.begin()
        answers.append(times.recall("billing", "orders", ID, places, ends()))
        if answers[-1] is None:
            found = times.find(brokers.wanted(*places), brokers)  # type: ignore[arg-type]
    assert [None, None, (3.0, 7.0)] == answers
    assert {("orders", 0, 3): RecordTime(3.0), ("orders", 2, 7): RecordTime(7.0)} == found
    assert 1 == len(brokers.asked)


@pytest.mark.parametrize("offsets", [(3, 10, 7), (3, 5, 7), (10, 10, 10)])
def test_ages_are_the_same_from_stamps_as_from_times(offsets: tuple[int, ...]) -> None:
    labels = tuple(("billing", "orders", str(partition)) for partition in range(3))
    commits = Commits("orders", labels, (0, 1, 2), offsets)
    raw = raw_lags(commits, ends())
    times = {("orders", p, o): RecordTime(100.0 + p) for p, o in enumerate(offsets) if o < 10}
    stamps = [100.0 + p for p, o in enumerate(offsets) if o < 10]
    one_by_one = group_topic(commits, ends(), raw, times, NOW, Counters())
    assert one_by_one == group_topic(commits, ends(), raw, {}, NOW, Counters(), stamps)
    assert tuple(NOW - times["orders", p, o].timestamp if o < 10 else 0.0 for p, o in enumerate(offsets)) == (  # type: ignore[operator]
        one_by_one.ages
    )
