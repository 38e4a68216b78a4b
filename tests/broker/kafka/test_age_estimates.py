"""Estimated ages on a real broker: the true time is within the bound, and the bound is as small as promised."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from exporter.clients.kafka.record_times import RecordTimes
from exporter.model.record_time import Position, RecordTime
from tests.broker.kafka.record_world import RecordWorld
from tests.mutations import fails_under

INTERVAL = 1.0
Name = Callable[[str], str]


@pytest.fixture
def topic(world: RecordWorld, fresh_name: Name) -> Iterator[str]:
    """The name of a topic that the test may make."""
    name = fresh_name("topic")
    yield name
    if world.partitions([name]):
        world.delete(name)


def check_bounds(found: dict[Position, RecordTime], stamps: list[int], interval: float) -> None:
    now = time.time()
    for (_, _, offset), (stamp, bound) in found.items():
        assert stamp is not None
        assert bound is not None
        assert abs(stamp - stamps[offset] / 1000) <= bound, (offset, stamp - stamps[offset] / 1000, bound)
        assert bound <= max(2 * interval, 0.1 * (now - stamp)) + 0.01, (offset, now - stamp, bound)


def test_from_two_polls_on_estimates_hold_the_true_time_within_two_intervals(world: RecordWorld, topic: str) -> None:
    world.create(topic)
    producer, stamps = world.producer(), []
    times = RecordTimes(INTERVAL, budget=5, exact=False)
    due = time.monotonic()
    for poll in range(12):
        for _ in range(poll % 4):
            stamps.append(int(time.time() * 1000))
            producer.produce(topic, b"x", timestamp=stamps[-1])
            assert producer.flush(20) == 0
        found = world.poll(times, {(topic, 0): range(len(stamps))})
        due += INTERVAL
        producer.poll(max(due - time.monotonic(), 0))  # waits, and serves the producer meanwhile
    assert {(topic, 0, offset) for offset in range(len(stamps))} == set(found)
    check_bounds(found, stamps, INTERVAL)


def test_without_any_history_brokers_tell_by_timestamp(world: RecordWorld, topic: str) -> None:
    now = time.time()
    ages = sorted((20 * 1.5**n for n in range(30)), reverse=True)  # 20 s to a month
    stamps = [int((now - age) * 1000) for age in ages]
    world.create(topic, partitions=2, retention_ms="-1")
    world.produce(topic, stamps, partition=0)
    world.produce(topic, stamps, partition=1)
    times = RecordTimes(15, budget=20, exact=False)
    found = world.poll(times, {(topic, p): range(len(stamps)) for p in (0, 1)})
    assert {(topic, p, offset) for p in (0, 1) for offset in range(len(stamps))} == set(found)
    check_bounds(found, stamps, 15)
    fails_under("forget_bound", lambda: check_bounds(world.poll(times, {(topic, 0): range(30)}), stamps, 15))


def test_what_the_time_budget_does_not_reach_is_estimated_and_read_in_a_later_poll(
    world: RecordWorld, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    stamps = [int((now - 3600 + n) * 1000) for n in range(50)]
    world.create(topic, partitions=6)
    for partition in range(6):
        world.produce(topic, stamps, partition)
    times = RecordTimes(15, budget=0.0)
    everything = {(topic, partition): (10,) for partition in range(6)}
    assert {} == world.poll(times, everything)
    assert {"age_unknown": 6} == times.skipped
    monkeypatch.setattr("exporter.clients.kafka.record_times.READING_SHARE", 0.0)
    estimated = world.poll(times, everything, budget=10)
    assert 6 == len(estimated)
    check_bounds(estimated, stamps, 15)
    monkeypatch.undo()
    read = world.poll(times, everything, budget=10)
    assert {(topic, partition, 10): RecordTime(stamps[10] / 1000) for partition in range(6)} == read
