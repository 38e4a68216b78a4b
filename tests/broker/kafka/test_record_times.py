"""The time of the first unread record is the one it was produced with, to the millisecond, whatever lies in the log."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Consumer, TopicPartition

from exporter.clients.kafka import record_cache, record_reading
from exporter.clients.kafka.record_times import RecordTimes
from exporter.model.record_time import CAUGHT_UP, Position, RecordTime, Wanted
from tests.broker.kafka.record_world import RecordWorld
from tests.mutations import fails_under, mutation

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
Name = Callable[[str], str]


@pytest.fixture
def topic(world: RecordWorld, fresh_name: Name) -> Iterator[str]:
    """The name of a topic that the test may make."""
    name = fresh_name("topic")
    yield name
    if world.partitions([name]):
        world.delete(name)


def now_ms() -> int:
    return int(time.time() * 1000)


def at(*stamps: int) -> list[RecordTime]:
    """Exact times."""
    return [RecordTime(stamp / 1000) for stamp in stamps]


def first_read(world: RecordWorld, topic: str, offset: int) -> tuple[int, int]:
    """(offset, timestamp in ms) of the first record that a committed consumer gets from this offset on."""
    consumer = Consumer({**world.client, "group.id": "none", "enable.auto.commit": False})
    try:
        consumer.assign([TopicPartition(topic, 0, offset)])
        message = consumer.poll(20)
        assert message is not None
        assert message.error() is None
        return message.offset(), message.timestamp()[1]
    finally:
        consumer.close()


@pytest.mark.parametrize("codec", CODECS)
def test_age_in_the_middle_of_a_batch_is_that_of_the_record_itself(world: RecordWorld, topic: str, codec: str) -> None:
    stamps = [now_ms() - 3_600_000 + 10 * n for n in range(500)]
    world.create(topic)
    world.produce(topic, stamps, **{"compression.type": codec})
    assert [*at(stamps[0], stamps[1], stamps[250], stamps[499]), CAUGHT_UP] == world.find(topic, 0, 1, 250, 499, 500)


def test_age_on_a_topic_with_append_time_is_by_the_broker_s_clock(world: RecordWorld, topic: str) -> None:
    world.create(topic, message_timestamp_type="LogAppendTime")
    world.produce(topic, [now_ms() - 3_600_000] * 20)
    appended = [first_read(world, topic, offset) for offset in (0, 7)]
    assert [0, 7] == [offset for offset, _ in appended]
    assert at(*(stamp for _, stamp in appended)) == world.find(topic, 0, 7)


def test_batches_far_larger_than_what_is_first_asked_for_are_read(world: RecordWorld, topic: str) -> None:
    stamps = [now_ms() - 60_000 + n for n in range(5)]
    world.create(topic, partitions=4, max_message_bytes="4000000")
    for partition in range(4):
        for stamp in stamps:  # one batch each
            world.produce(topic, [stamp], partition, size=1_500_000, **{"message.max.bytes": 4_000_000, "linger.ms": 0})
    times = RecordTimes(interval=15, budget=20)
    found = world.poll(times, {(topic, partition): (0, 3) for partition in range(4)})
    expected = {(topic, p, offset): RecordTime(stamps[offset] / 1000) for p in range(4) for offset in (0, 3)}
    assert (expected, []) == (found, times.problems)


def test_a_hole_left_by_compaction_at_the_committed_offset_is_stepped_over(world: RecordWorld, topic: str) -> None:
    world.create(
        topic, cleanup_policy="compact", segment_ms="100", min_cleanable_dirty_ratio="0.01", max_compaction_lag_ms="100"
    )
    producer = world.producer()
    start = now_ms() - 1_000_000
    for n in range(40):
        producer.produce(topic, b"v", key=f"key-{n % 2}".encode(), timestamp=start + n)
        assert producer.flush(20) == 0

    def compacted() -> bool:
        producer.produce(topic, b"roll", key=b"roll")
        producer.flush(20)
        return first_read(world, topic, 5)[0] > 30

    world.wait(compacted, "records 5 to 30 are compacted away", seconds=90)
    offset, stamp = first_read(world, topic, 5)
    assert (start + offset, at(stamp)) == (stamp, world.find(topic, 5))


def check_aborted_data_is_stepped_over(world: RecordWorld, topic: str, stamp: int) -> None:
    assert [*at(stamp, stamp), CAUGHT_UP] == world.find(topic, 0, 2, 5)


def test_aborted_data_at_the_committed_offset_is_stepped_over(world: RecordWorld, topic: str) -> None:
    world.create(topic)
    producer = transactional(world, topic)
    stamp = now_ms() - 50_000
    producer.begin_transaction()
    for _ in range(3):
        producer.produce(topic, b"aborted", timestamp=stamp - 40_000)
    producer.flush(20)
    producer.abort_transaction(20)
    world.produce(topic, [stamp])
    wait_for_ends(world, topic, [0, 5, 5])  # three aborted, one marker, one visible
    check_aborted_data_is_stepped_over(world, topic, stamp)
    fails_under("aborted_counts_as_committed", check_aborted_data_is_stepped_over, world, topic, stamp)


@mutation
def aborted_counts_as_committed(patch: pytest.MonkeyPatch) -> None:
    real = record_reading.scan
    patch.setattr(record_reading, "scan", lambda data, start, asked, *_: real(data, start, asked))


def test_a_long_stretch_of_aborted_data_is_walked_through(world: RecordWorld, topic: str) -> None:
    world.create(topic)
    producer = transactional(world, topic)
    producer.begin_transaction()
    for _ in range(3000):
        producer.produce(topic, b"x" * 1000, timestamp=now_ms() - 40_000)
    producer.flush(30)
    producer.abort_transaction(20)
    stamp = now_ms()
    world.produce(topic, [stamp])
    wait_for_ends(world, topic, [0, 3002, 3002])
    assert at(stamp, stamp) == world.find(topic, 1, 2999)


def check_caught_up(world: RecordWorld, topic: str, offset: int) -> None:
    assert [CAUGHT_UP] == world.find(topic, offset)


@mutation
def markers_count_as_records(patch: pytest.MonkeyPatch) -> None:
    real = record_reading.scan

    def scan(data: bytes, start: int, asked: list[int], aborted: object = ()) -> object:
        return real(data[:21] + b"\0\0" + data[23:] if data else data, start, asked)  # no attributes: plain records

    patch.setattr(record_reading, "scan", scan)


def test_where_only_transaction_markers_are_left_a_group_is_caught_up(world: RecordWorld, topic: str) -> None:
    world.create(topic)
    producer = transactional(world, topic)
    producer.begin_transaction()
    for _ in range(3):
        producer.produce(topic, b"committed")
    producer.commit_transaction(20)
    wait_for_ends(world, topic, [0, 4, 4])
    check_caught_up(world, topic, 3)
    fails_under("markers_count_as_records", check_caught_up, world, topic, 3)


def test_new_records_behind_markers_are_found_without_reading_the_markers_again(world: RecordWorld, topic: str) -> None:
    world.create(topic)
    producer = transactional(world, topic)
    producer.begin_transaction()
    producer.produce(topic, b"committed")
    producer.commit_transaction(20)
    wait_for_ends(world, topic, [0, 2, 2])
    times = RecordTimes(interval=15, budget=10)
    assert [CAUGHT_UP] == world.find(topic, 1, times=times)
    stamp = now_ms()
    world.produce(topic, [stamp])
    assert at(stamp) == world.find(topic, 1, times=times)


@mutation
def uncommitted_is_for_good(patch: pytest.MonkeyPatch) -> None:
    real = record_cache.Entry.find
    patch.setattr(record_cache.Entry, "find", lambda self, offset, stamp, _: real(self, offset, stamp, True))


def check_an_open_transaction(world: RecordWorld, topic: str) -> None:
    producer = transactional(world, topic)
    stamp = now_ms() - 20_000
    world.produce(topic, [stamp])
    producer.begin_transaction()
    producer.produce(topic, b"open", timestamp=stamp + 1)
    producer.flush(20)
    world.produce(topic, [stamp + 2])
    start = world.ends(world.partitions([topic]))[topic, 0][1] - 1
    wait_for_ends(world, topic, [0, start + 1, start + 3])
    times = RecordTimes(interval=15, budget=10)
    while_open = world.find(topic, start, start + 1, start + 2, times=times)
    producer.abort_transaction(20)
    wait_for_ends(world, topic, [0, start + 4, start + 4])
    after_abort = world.find(topic, start, start + 1, start + 2, start + 3, times=times)
    assert at(stamp, stamp + 1, stamp + 2) == while_open
    assert [*at(stamp, stamp + 2, stamp + 2), CAUGHT_UP] == after_abort


def test_in_an_open_transaction_the_waiting_record_counts_until_it_is_aborted(world: RecordWorld, topic: str) -> None:
    world.create(topic)
    check_an_open_transaction(world, topic)
    fails_under("uncommitted_is_for_good", check_an_open_transaction, world, topic)


def test_below_the_log_start_the_age_is_that_of_the_first_record_still_there(world: RecordWorld, topic: str) -> None:
    world.create(topic)
    stamps = [now_ms() - 10_000 + n for n in range(10)]
    world.produce(topic, stamps)
    times = RecordTimes(interval=15, budget=10)
    assert at(stamps[0], stamps[2]) == world.find(topic, 0, 2, times=times)
    world.admin.delete_records([TopicPartition(topic, 0, 6)])[TopicPartition(topic, 0)].result(20)
    assert at(stamps[6], stamps[6], stamps[8]) == world.find(topic, 0, 2, 8, times=times)


@mutation
def topics_are_told_by_name(patch: pytest.MonkeyPatch) -> None:
    real = RecordTimes.find

    def find(times: RecordTimes, wanted: list[Wanted], *more: object) -> dict[Position, RecordTime]:
        return real(times, [position._replace(topic_id=bytes(16)) for position in wanted], *more)

    patch.setattr(RecordTimes, "find", find)


def check_a_new_topic_starts_afresh(world: RecordWorld, topic: str) -> None:
    old, new = now_ms() - 90_000, now_ms() - 1000
    world.create(topic)
    world.produce(topic, [old, old + 1])
    times = RecordTimes(interval=15, budget=10)
    before = world.find(topic, 1, times=times)
    stale = world.wanted({(topic, 0): [0]})
    world.delete(topic)
    world.create(topic)
    world.produce(topic, [new, new + 1])
    for_the_old_one = times.find(stale, world.brokers)
    after = world.find(topic, 1, times=times)
    world.delete(topic)
    assert (at(old + 1), at(new + 1)) == (before, after)
    assert RecordTime(new / 1000) != for_the_old_one.get((topic, 0, 0))


def test_a_topic_made_again_under_its_old_name_starts_afresh(world: RecordWorld, topic: str) -> None:
    check_a_new_topic_starts_afresh(world, topic)
    fails_under("topics_are_told_by_name", check_a_new_topic_starts_afresh, world, topic)


def test_a_position_once_read_is_not_read_again(
    world: RecordWorld, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.create(topic)
    stamp = now_ms() - 5000
    world.produce(topic, [stamp])
    times = RecordTimes(interval=15, budget=10)
    assert at(stamp) == world.find(topic, 0, times=times)
    monkeypatch.setattr(record_reading.RecordReading, "run", None)
    assert at(stamp) == world.find(topic, 0, times=times)


def transactional(world: RecordWorld, name: str) -> object:
    """A transactional producer, ready to begin."""
    producer = world.producer(**{"transactional.id": name, "transaction.timeout.ms": 60_000})
    producer.init_transactions(30)
    return producer


def wait_for_ends(world: RecordWorld, topic: str, ends: list[int]) -> None:
    """Markers are written after the client's call has returned."""
    world.wait(lambda: world.ends(world.partitions([topic])) == {(topic, 0): ends}, f"the ends of {topic} are {ends}")
