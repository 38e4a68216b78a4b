"""Lag, age and state arithmetic, with every number written out."""

from __future__ import annotations

import pytest

from exporter.model.kafka_lag import (
    Commits,
    Counters,
    TopicEnds,
    group_topic,
    hottest_share,
    lag_total,
    oldest_age,
    raw_lags,
    unread,
)
from exporter.model.record_time import RecordTime

NOW = 1_000_000.0


def commits(offsets: dict[int, int], **more) -> Commits:  # type: ignore[no-untyped-def]
    labels = tuple(("g", "t", str(partition)) for partition in offsets)
    return Commits("t", labels, tuple(offsets), tuple(offsets.values()), **more)


def ends(*rows: tuple[int | None, int | None, int | None]) -> TopicEnds:
    made = TopicEnds([row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows])
    made.close()
    return made


def joined(offsets, rows, times=None, **more):  # type: ignore[no-untyped-def]
    found, table = commits(offsets, **more), ends(*rows)
    return group_topic(found, table, raw_lags(found, table), times or {}, NOW, Counters())


def test_lag_is_the_high_watermark_minus_the_commit() -> None:
    row = joined({0: 4, 1: 7}, [(0, 10, 10), (0, 5, 7)])
    assert row.lags == (6, 0)
    assert row.states == {}
    assert row.counts == {"ok": 2}


def test_lag_counts_from_the_log_start_once_retention_passed_the_commit() -> None:
    found, table = commits({0: 4}), ends((7, 10, 10))
    raw = raw_lags(found, table)
    assert raw.lags == [3]
    assert raw.lost == [(0, 4, 7)]
    assert raw.states == {0: "below_log_start"}
    assert unread(found, table, raw) == [(0, 7)]


def test_a_commit_beyond_the_end_has_a_state_and_no_number() -> None:
    row = joined({0: 11}, [(0, 10, 10)])
    assert (row.lags, row.ages, row.states) == ((None,), (None,), {0: "beyond_log_end"})
    assert lag_total(row) is None
    assert oldest_age(row) is None
    assert hottest_share(row) is None


def test_an_unknown_end_is_unreadable_and_leaves_the_rest_alone() -> None:
    row = joined({0: 1, 1: 2, 5: 1}, [(0, None, None), (0, 3, 3)])
    assert row.lags == (None, 1, None)
    assert row.states == {0: "unreadable", 5: "unreadable"}
    assert row.counts == {"ok": 1, "unreadable": 2}
    assert lag_total(row) == 1


@pytest.mark.parametrize(
    ("bounds", "states", "counts"),
    [
        ((0, 0, 0), {}, {"ok": 2}),
        ((9, 9, 9), {}, {"ok": 2}),
        ((0, 3, 3), {1: "no_commit"}, {"ok": 1, "no_commit": 1}),
        ((None, None, None), {1: "unreadable"}, {"ok": 1, "unreadable": 1}),
    ],
)
def test_a_partition_without_a_commit_is_ok_only_while_empty(bounds, states, counts) -> None:  # type: ignore[no-untyped-def]
    row = joined({0: 0}, [(0, 0, 0), bounds])
    assert (row.states, row.counts) == (states, counts)


def test_without_any_commit_only_assigned_partitions_count() -> None:
    row = joined({}, [(0, 1, 1), (0, 1, 1), (0, 0, 0)], assigned={1, 2})
    assert (row.states, row.counts) == ({1: "no_commit"}, {"ok": 1, "no_commit": 1})


def test_a_commit_that_could_not_be_read_is_unreadable() -> None:
    row = joined({0: 0}, [(0, 0, 0), (0, 5, 5)], unreadable={1})
    assert (row.states, row.counts) == ({1: "unreadable"}, {"ok": 1, "unreadable": 1})


def test_age_is_now_minus_the_time_of_the_first_unread_record() -> None:
    times = {("t", 0, 4): RecordTime(NOW - 30), ("t", 1, 1): RecordTime(NOW - 5, 2.0)}
    row = joined({0: 4, 1: 1, 2: 3}, [(0, 10, 10), (0, 9, 9), (0, 3, 3)], times)
    assert row.ages == (30.0, 5.0, 0.0)
    assert row.error_bounds == {1: 2.0}
    assert oldest_age(row) == 30.0


def test_an_unknown_age_is_absent_and_the_lag_stays() -> None:
    row = joined({0: 4}, [(0, 10, 10)])
    assert (row.lags, row.ages) == ((6,), (None,))


def test_nothing_visible_left_is_caught_up() -> None:
    row = joined({0: 9}, [(0, 10, 10)], {("t", 0, 9): RecordTime(None)})
    assert (row.lags, row.ages, row.retention_used) == ((0,), (0.0,), {})


def test_a_record_from_the_future_is_a_state_and_not_a_negative_age() -> None:
    row = joined({0: 9}, [(0, 10, 10)], {("t", 0, 9): RecordTime(NOW + 60)})
    assert (row.lags, row.ages, row.states) == ((1,), (None,), {0: "future_timestamp"})


def test_a_clock_that_is_ahead_by_less_than_a_second_is_an_uncertainty() -> None:
    row = joined({0: 9}, [(0, 10, 10)], {("t", 0, 9): RecordTime(NOW + 0.25)})
    assert (row.ages, row.error_bounds, row.states) == ((0.0,), {0: 0.25}, {})


def test_the_age_below_the_log_start_is_that_of_the_first_record_left() -> None:
    row = joined({0: 4}, [(7, 10, 10)], {("t", 0, 7): RecordTime(NOW - 9)})
    assert (row.ages, row.retention_used) == ((9.0,), {0: 1.0})


def test_retention_used_is_the_unread_share_of_what_is_retained() -> None:
    row = joined({0: 15, 1: 20}, [(10, 20, 20), (0, 20, 20)])
    assert row.retention_used == {0: 0.5}


def test_the_hottest_partition_is_its_share_of_the_lag() -> None:
    assert hottest_share(joined({0: 1, 1: 7}, [(0, 10, 10), (0, 8, 8)])) == 0.9
    assert hottest_share(joined({0: 10}, [(0, 10, 10)])) is None


def test_a_share_group_has_the_brokers_lag() -> None:
    row = joined({0: 4, 1: 4}, [(0, 10, 10), (0, 10, 10)], share_lags=(2, None))
    assert row.lags == (2, None)
    assert row.states == {}
