"""Public reports about wrong lags and ages of Kafka groups, with their own numbers where they give some."""

from __future__ import annotations

import math
import time

import pytest
from confluent_kafka import Producer

from exporter.clients.kafka import assembly
from exporter.clients.kafka.fetch import FETCH
from exporter.clients.kafka.messages import list_offsets
from exporter.clients.kafka.reader import KafkaReader
from exporter.metrics import registry
from exporter.model import kafka_lag
from exporter.model.kafka_lag import Commits, RawLags, TopicEnds
from tests.broker.kafka.lag_world import LagWorld, ages, lags, problems, row_of, topic_of, wait
from tests.broker.reports.conftest import Name, asked
from tests.mutations import fails_under, mutation

DAY = 86_400.0
HOUR = 3_600.0
RESOLUTION = 0.002  # seconds: timestamps of records are whole milliseconds
CAPPED_AT = 1_800.0


def transactional(kafka: LagWorld, name: str) -> Producer:
    producer = Producer({**kafka.client, "transactional.id": name, "acks": "all"})
    producer.init_transactions(60)
    return producer


def test_a_hung_transaction_has_the_lag_and_age_of_what_waits_behind_it(kafka: LagWorld, fresh_name: Name) -> None:
    """Commit and last stable offset 200, high watermark 1663: read committed there is nothing at the commit."""
    topic, group = kafka.create(fresh_name("topic")), fresh_name("group")
    kafka.produce(topic, 200)
    producer = transactional(kafka, fresh_name("tx"))
    producer.begin_transaction()
    began = time.time()
    for _ in range(1463):
        producer.produce(topic, b"open", partition=0)
    assert producer.flush(30) == 0
    kafka.commit(group, topic, {0: 200})
    reader = kafka.reader(topic, group)

    for _ in range(2):
        with asked(reader) as requests:
            snapshot = reader.poll()
        seen, row = topic_of(snapshot, topic), row_of(snapshot, group, topic)
        assert (seen.last_stables, seen.high_watermarks) == ((200,), (1663,))
        assert (lags(row), dict(row.counts)) == ({0: 1463}, {"ok": 1})
        oldest = snapshot.taken_at - began
        assert oldest - 5 <= (ages(row)[0] or 0.0) <= oldest + RESOLUTION
        assert oldest - 5 <= seen.open_transactions[0] <= oldest + RESOLUTION
        assert [request.api_key for request in requests].count(FETCH) <= 1
        assert problems(snapshot) == {}
    producer.abort_transaction(60)


def test_an_aborted_tail_is_caught_up(kafka: LagWorld, fresh_name: Name) -> None:
    """Behind the commit: the marker of what was read, two aborted records, and their marker."""
    topic, group = kafka.create(fresh_name("topic")), fresh_name("group")
    producer = transactional(kafka, fresh_name("tx"))
    for count, end in ((1, producer.commit_transaction), (2, producer.abort_transaction)):
        producer.begin_transaction()
        for _ in range(count):
            producer.produce(topic, b"x", partition=0)
        assert producer.flush(30) == 0
        end(60)
    kafka.commit(group, topic, {0: 1})
    reader = kafka.reader(topic, group)

    snapshot = wait(reader.poll, lambda seen: topic_of(seen, topic).last_stables == (5,))

    row = row_of(snapshot, group, topic)
    assert (lags(row), ages(row), dict(row.counts)) == ({0: 0}, {0: 0.0}, {"ok": 1})


@mutation
def reading_begins_at_the_commit(patch: pytest.MonkeyPatch) -> None:
    """Look for the first unread record at the commit also where retention has deleted what it points at."""
    plain = kafka_lag._one_by_one

    def counting(ends: TopicEnds, partitions: list[int], offsets: list[int]) -> RawLags:
        raw = plain(ends, partitions, offsets)
        for partition, offset, _ in raw.lost:
            raw.lags[list(partitions).index(partition)] = (ends.highs[partition] or 0) - offset
        return raw

    def sought(commits: Commits, _: TopicEnds, raw: RawLags) -> list[tuple[int, int]]:
        rows = zip(commits.partitions, commits.offsets, raw.lags, strict=True)
        return [(partition, offset) for partition, offset, lag in rows if lag]

    patch.setattr(kafka_lag, "_one_by_one", counting)
    patch.setattr(assembly, "unread", sought)


def test_drained_partitions_are_caught_up_and_cost_no_reading(kafka: LagWorld, fresh_name: Name) -> None:
    """Deleted before it was read, read and deleted, never used, read and still there: nothing is left to sample."""
    topic, group = kafka.create(fresh_name("topic"), 4), fresh_name("group")
    for partition in (0, 1, 3):
        kafka.produce(topic, 10, partition)
    kafka.commit(group, topic, {0: 2, 1: 10, 2: 0, 3: 10})
    for partition in (0, 1):
        kafka.delete_records(topic, 10, partition)
    check_drained(kafka, topic, group)
    fails_under("reading_begins_at_the_commit", check_drained, kafka, topic, group)


def check_drained(kafka: LagWorld, topic: str, group: str) -> None:
    """No lag, no age, no Fetch; what was lost is a state and a count."""
    reader = kafka.reader(topic, group)
    with asked(reader) as requests:
        snapshot = reader.poll()
    row = row_of(snapshot, group, topic)
    assert topic_of(snapshot, topic).log_starts == (10, 10, 0, 0)
    assert (lags(row), ages(row)) == (dict.fromkeys(range(4), 0), dict.fromkeys(range(4), 0.0))
    assert (dict(row.states), row.lost) == ({0: "below_log_start"}, 8)
    assert FETCH not in [request.api_key for request in requests]


OLDEST = {0: 40 * DAY, 1: 3 * HOUR, 2: 0.0, 3: 3 * DAY}
"""Partition -> age of the first unread record: replayed, hours behind, idle and read, one record in days."""


def old_records(kafka: LagWorld, topic: str) -> float:
    """Fill the partitions; the moment from which ages count."""
    now = math.floor(time.time())
    for days in (40, 30, 20, 10, 1):
        kafka.produce(topic, 20, 0, timestamp=int((now - days * DAY) * 1000))
    for hours in (9, 3, 2, 1):
        kafka.produce(topic, 3, 1, timestamp=int((now - hours * HOUR) * 1000))
    kafka.produce(topic, 5, 2, timestamp=int((now - 3 * DAY) * 1000))
    kafka.produce(topic, 1, 3, timestamp=int((now - 3 * DAY) * 1000))
    return float(now)


@mutation
def history_is_half_an_hour(patch: pytest.MonkeyPatch) -> None:
    """No age is greater than what a table of sixty polls of half a minute can hold."""
    plain = assembly.group_topic

    def capped(*facts):  # type: ignore[no-untyped-def]
        row = plain(*facts)
        object.__setattr__(row, "ages", tuple(age if age is None else min(age, CAPPED_AT) for age in row.ages))
        return row

    patch.setattr(assembly, "group_topic", capped)


@pytest.fixture(scope="module")
def aged(kafka: LagWorld) -> tuple[str, str, float]:
    """Topic, group, and the moment from which `OLDEST` counts; the group was once at every end and went back."""
    topic = kafka.create("reports-ages", 4, retention_ms="-1")
    now = old_records(kafka, topic)
    kafka.commit("reports-ages", topic, {0: 100, 1: 12, 2: 5, 3: 1})
    return topic, "reports-ages", now


def test_a_replay_idle_topics_and_hours_of_lag_have_the_age_of_their_first_unread_record(
    kafka: LagWorld, aged: tuple[str, str, float]
) -> None:
    topic, group, now = aged
    reader = kafka.reader(topic, group)
    assert set(ages(row_of(reader.poll(), group, topic)).values()) == {0.0}
    kafka.commit(group, topic, {0: 0, 1: 3, 2: 5, 3: 0})
    check_ages(reader, topic, group, now)
    check_ages(kafka.reader(topic, group), topic, group, now)  # known from the first poll on: no history is needed
    fails_under("history_is_half_an_hour", check_ages, reader, topic, group, now)


def check_ages(reader: KafkaReader, topic: str, group: str, now: float) -> None:
    """Every age is exact, and no number on the page is infinite or none."""
    snapshot = reader.poll()
    row = row_of(snapshot, group, topic)
    expected = {partition: age and age + snapshot.taken_at - now for partition, age in OLDEST.items()}
    assert ages(row) == pytest.approx(expected, abs=RESOLUTION)
    assert lags(row) == {0: 100, 1: 9, 2: 0, 3: 1}
    assert dict(row.error_bounds) == {}
    families, faults = registry.measure(snapshot)
    values = [value for samples in families.values() for value in samples.values()]
    assert not faults
    assert all(math.isfinite(value) for value in values)


def test_estimates_after_a_replay_are_never_negative_nor_beyond_their_bound(
    kafka: LagWorld, aged: tuple[str, str, float]
) -> None:
    """Back and forth over the whole log, before and after what polls have seen; unknown is absent."""
    topic, group, now = aged
    reader = kafka.reader(topic, group, ages="estimate")
    known = 0
    for position in (0, 95, 20, 100, 0):
        kafka.commit(group, topic, {0: position})
        snapshot = reader.poll()
        row = row_of(snapshot, group, topic)
        days = {100: 0, 0: 40, 95: 1, 20: 30}[position]
        true = days and days * DAY + snapshot.taken_at - now
        age = ages(row)[0]
        assert age is None or age >= 0
        assert age is None or abs(age - true) <= row.error_bounds.get(0, 0.0)
        known += age is not None
    assert known >= 4


def test_an_age_grows_as_the_clock_does_and_does_not_saw(kafka: LagWorld, fresh_name: Name) -> None:
    """Records go on being written at any moment between two polls; the age is that of the first unread one."""
    topic, group = kafka.create(fresh_name("topic")), fresh_name("group")
    stamp = int(time.time() * 1000) - 1234
    kafka.produce(topic, 1, timestamp=stamp)
    kafka.commit(group, topic, {0: 0})
    reader = kafka.reader(topic, group)
    for written in range(1, 4):
        snapshot = reader.poll()
        row = row_of(snapshot, group, topic)
        assert ages(row) == pytest.approx({0: snapshot.taken_at - stamp / 1000}, abs=RESOLUTION)
        assert lags(row) == {0: written}
        kafka.produce(topic, 1)


@pytest.mark.parametrize("version", [6, 7, 8])
def test_log_start_and_end_differ_by_every_version_of_the_request(
    kafka: LagWorld, emptied: str, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    monkeypatch.setattr(list_offsets, "HIGHEST", version)
    reader = kafka.reader(emptied)
    with asked(reader) as requests:
        seen = topic_of(reader.poll(), emptied)
    assert {request.version for request in requests if request.api_key == list_offsets.API_KEY} == {version}
    assert (seen.log_starts, seen.last_stables, seen.high_watermarks) == ((0, 4), (0, 10), (0, 10))


@pytest.fixture(scope="module")
def emptied(kafka: LagWorld) -> str:
    """A topic with an empty partition, and one whose first four of ten records were deleted."""
    topic = kafka.create("reports-ends", 2)
    kafka.produce(topic, 10, 1)
    kafka.delete_records(topic, 4, 1)
    return topic
