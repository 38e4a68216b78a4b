"""What exact ages cost: one pass over many lagging partitions, beside librdkafka reading the same records."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Consumer, TopicPartition

from exporter.clients.kafka import record_cache, record_reading
from exporter.clients.kafka.record_times import RecordTimes
from exporter.model.record_time import RecordTime, Wanted
from tests.broker.kafka.record_world import RecordWorld
from tests.mutations import fails_under, mutation

PARTITIONS = 500  # benchmarks/kafka_refresh.py does this with 5,000
STAMP = 1_700_000_000_000
Name = Callable[[str], str]


@pytest.fixture
def many(world: RecordWorld, fresh_name: Name) -> Iterator[str]:
    """A topic with four records in each of many partitions."""
    topic = world.create(fresh_name("topic"), PARTITIONS, replicas=1, retention_ms="-1")
    producer = world.producer(**{"linger.ms": 200})
    for partition in range(PARTITIONS):
        for offset in range(4):
            producer.produce(topic, b"x" * 200, partition=partition, timestamp=STAMP + 1000 * partition + offset)
    assert producer.flush(120) == 0
    yield topic
    world.delete(topic)


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def consume(world: RecordWorld, topic: str) -> None:
    """One record of each partition through librdkafka, tuned for just that."""
    consumer = Consumer(
        {
            **world.client,
            "group.id": "none",
            "enable.auto.commit": False,
            "fetch.message.max.bytes": 4096,
            "queued.min.messages": 1,
            "fetch.wait.max.ms": 50,
        }
    )
    try:
        consumer.assign([TopicPartition(topic, partition, 2) for partition in range(PARTITIONS)])
        seen: set[int] = set()
        deadline = time.monotonic() + 60
        while len(seen) < PARTITIONS:
            assert time.monotonic() < deadline, len(seen)
            seen.update(message.partition() for message in consumer.consume(2000, 0.2))
    finally:
        consumer.close()


def read(world: RecordWorld, topic: str, wanted: list[Wanted]) -> None:
    times = RecordTimes(interval=15, budget=60)
    times.begin()
    found = times.find(wanted, world.brokers)
    expected = {(topic, p, 2): RecordTime((STAMP + 1000 * p + 2) / 1000) for p in range(PARTITIONS)}
    assert (expected, []) == (found, times.problems)


@mutation
def one_partition_a_request(patch: pytest.MonkeyPatch) -> None:
    """As every exporter did that sends a consumer from partition to partition: one request, one answer."""
    patch.setattr(record_cache, "FIRST_ROUND_BYTES", 1)
    patch.setattr(record_reading.RecordReading, "_adapt", lambda *_: None)


def check_cost(world: RecordWorld, topic: str) -> None:
    wanted = world.wanted({(topic, partition): (2,) for partition in range(PARTITIONS)})
    ours = min(seconds(lambda: read(world, topic, wanted)) for _ in range(3))
    theirs = min(seconds(lambda: consume(world, topic)) for _ in range(2))
    assert ours < theirs, f"ours {ours:.3f} s, librdkafka {theirs:.3f} s"


def test_one_pass_over_many_partitions_is_quicker_than_librdkafka(world: RecordWorld, many: str) -> None:
    check_cost(world, many)
    fails_under("one_partition_a_request", check_cost, world, many)
