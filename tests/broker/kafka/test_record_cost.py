"""What exact ages cost: the Fetch requests of one pass over many lagging partitions. Seconds are for `make bench`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from exporter.clients.kafka import fetch, record_cache, record_reading
from exporter.clients.kafka.brokers import Brokers, Request
from exporter.clients.kafka.record_times import RecordTimes
from exporter.model.record_time import RecordTime
from tests.broker.kafka.record_world import RecordWorld
from tests.mutations import fails_under, mutation

PARTITIONS = 500
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


@pytest.fixture
def fetches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The broker of every Fetch request that is sent."""
    sent: list[int] = []
    ask = Brokers.ask

    def noting(self: Brokers, requests: Mapping[int, Sequence[Request]], *rest: Any) -> Any:
        sent.extend(broker for broker, asked in requests.items() for one in asked if one.api_key == fetch.FETCH)
        return ask(self, requests, *rest)

    monkeypatch.setattr(Brokers, "ask", noting)
    return sent


@mutation
def one_partition_a_request(patch: pytest.MonkeyPatch) -> None:
    """As every exporter did that sends a consumer from partition to partition: one request, one answer."""
    patch.setattr(record_cache, "FIRST_ROUND_BYTES", 1)
    patch.setattr(record_reading.RecordReading, "_adapt", lambda *_: None)


def check_cost(world: RecordWorld, topic: str, fetches: list[int]) -> None:
    wanted = world.wanted({(topic, partition): (2,) for partition in range(PARTITIONS)})
    times = RecordTimes(interval=15, budget=60)
    times.begin()
    fetches.clear()
    found = times.find(wanted, world.brokers)
    expected = {(topic, p, 2): RecordTime((STAMP + 1000 * p + 2) / 1000) for p in range(PARTITIONS)}
    assert (expected, []) == (found, times.problems)
    assert sorted({one.leader for one in wanted}) == sorted(fetches)


def test_one_pass_over_many_partitions_asks_each_leader_once(world: RecordWorld, many: str, fetches: list[int]) -> None:
    check_cost(world, many, fetches)
    fails_under("one_partition_a_request", check_cost, world, many, fetches)
