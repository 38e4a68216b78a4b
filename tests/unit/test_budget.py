"""A cluster never exceeds its budget of series, the choice is deterministic, and it does not flap."""

from __future__ import annotations

import random

from exporter.budget import fit
from exporter.metrics.family import Family, Measured

LAG = Family("mq_kafka_group_lag_offsets", "gauge", "h", ("group", "topic", "partition"))
AGE = Family("mq_kafka_group_oldest_message_age_seconds", "gauge", "h", ("group", "topic", "partition"))
TOPIC_LAG = Family("mq_kafka_group_topic_lag_offsets", "gauge", "h", ("group", "topic"))
READY = Family("mq_rabbitmq_queue_messages_ready", "gauge", "h", ("vhost", "queue", "type", "role"))


def cluster(lags: dict[int, int]) -> Measured:
    return {
        LAG: {("g", "t", str(number)): lag for number, lag in lags.items()},
        AGE: {("g", "t", str(number)): lag / 2 for number, lag in lags.items()},
        TOPIC_LAG: {("g", "t"): sum(lags.values())},
    }


def kept_partitions(measured: Measured) -> set[int]:
    return {int(labels[2]) for labels in measured[LAG]}


def test_nothing_is_dropped_within_the_budget() -> None:
    measured = cluster({0: 1, 1: 2})
    assert (measured, 0) == (fit(measured, 5, frozenset()).measured, fit(measured, 5, frozenset()).dropped)


def test_the_highest_lags_stay_whole_and_totals_are_never_dropped() -> None:
    found = fit(cluster({0: 5, 1: 50, 2: 500, 3: 1}), 5, frozenset())
    assert {1, 2} == kept_partitions(found.measured)
    assert {("g", "t", "1"), ("g", "t", "2")} == set(found.measured[AGE])
    assert {("g", "t"): 556} == found.measured[TOPIC_LAG]
    assert 4 == found.dropped


def test_ties_are_broken_by_name() -> None:
    for seed in range(5):
        order = list(range(10))
        random.Random(seed).shuffle(order)
        assert {0, 1} == kept_partitions(fit(cluster(dict.fromkeys(order, 7)), 5, frozenset()).measured)


def test_the_chosen_stay_until_they_fall_below_half_of_the_cut() -> None:
    first = fit(cluster({0: 100, 1: 90, 2: 10}), 5, frozenset())
    assert {0, 1} == kept_partitions(first.measured)
    second = fit(cluster({0: 100, 1: 90, 2: 170}), 5, first.kept)
    assert {0, 1} == kept_partitions(second.measured), "90 is more than half of 170: it stays"
    third = fit(cluster({0: 100, 1: 80, 2: 170}), 5, second.kept)
    assert {0, 2} == kept_partitions(third.measured), "80 is less than half of 170: it goes"


def test_queues_are_chosen_by_depth() -> None:
    measured: Measured = {READY: {("/", f"q{number}", "quorum", "work"): number for number in range(10)}}
    found = fit(measured, 3, frozenset())
    assert {"q9", "q8", "q7"} == {labels[1] for labels in found.measured[READY]}
