"""Which partitions a broker can't be taken from."""

from __future__ import annotations

from drills.targets.kafka_isr import Partition, too_few_without


def partition(number: int, in_sync: set[int], least: int) -> Partition:
    return Partition("orders", number, frozenset(in_sync), least)


def test_a_partition_at_its_least_is_named_and_others_are_not() -> None:
    partitions = [
        partition(0, {1, 2, 3}, 2),  # one to spare
        partition(1, {1, 2}, 2),  # at its least
        partition(2, {2, 3}, 2),  # at its least, without broker 1
        partition(3, {1}, 2),  # below it already
        partition(4, {1}, 1),  # the only replica
    ]
    assert ["orders/1", "orders/3", "orders/4"] == too_few_without(partitions, 1)
