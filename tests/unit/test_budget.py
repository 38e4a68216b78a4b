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


def groups(lags: dict[str, int]) -> Measured:
    """One partition for each group; two series each that may be dropped, one that may not."""
    return {
        LAG: {(group, "t", "0"): lag for group, lag in lags.items()},
        AGE: {(group, "t", "0"): float(lag) for group, lag in lags.items()},
        TOPIC_LAG: {(group, "t"): lag for group, lag in lags.items()},
    }


def kept_groups(measured: Measured) -> set[str]:
    return {labels[0] for labels in measured[LAG]}


def test_groups_that_come_and_go_move_nobody_else() -> None:
    lags = {f"g{number}": 100 + number for number in range(10)}
    fits_four = 10 + 2 * 4  # ten totals, and four groups of two series
    found = fit(groups(lags), fits_four, frozenset())
    chosen = {"g6", "g7", "g8", "g9"}
    assert chosen == kept_groups(found.measured)
    for visitor in range(5):  # each has more lag than those chosen, and not twice as much
        with_visitor = fit(groups(lags | {f"visitor-{visitor}": 180}), fits_four + 1, found.kept)
        assert (chosen, 14) == (kept_groups(with_visitor.measured), with_visitor.dropped)
        found = fit(groups(lags), fits_four, with_visitor.kept)
        assert (chosen, 12) == (kept_groups(found.measured), found.dropped)
    del lags["g8"]
    found = fit(groups(lags), fits_four - 1, found.kept)
    assert {"g5", "g6", "g7", "g9"} == kept_groups(found.measured), "the next one takes the place; the others stay"
    found = fit(groups(lags | {"g8": 108}), fits_four, found.kept)
    assert {"g5", "g6", "g7", "g9"} == kept_groups(found.measured), "and it does not have to give it back"


def test_the_choice_does_not_depend_on_the_order_of_groups() -> None:
    lags = {f"g{number}": number % 3 for number in range(12)}
    first = fit(groups(lags), 12 + 2 * 5, frozenset())
    for seed in range(5):
        order = list(lags)
        random.Random(seed).shuffle(order)
        again = fit(groups({group: lags[group] for group in order}), 12 + 2 * 5, frozenset())
        assert (first.kept, first.dropped) == (again.kept, again.dropped)
        assert first.kept == fit(groups({group: lags[group] for group in order}), 12 + 2 * 5, first.kept).kept


def test_what_is_left_and_what_was_dropped_add_up() -> None:
    for limit in range(10, 31):
        found = fit(groups({f"g{number}": number for number in range(10)}), limit, frozenset())
        left = sum(map(len, found.measured.values()))
        assert 30 == left + found.dropped
        assert left <= limit
