"""The events of partition-lag are as its criteria name them."""

from __future__ import annotations

from collections import Counter

import pytest

from drills.catalog.partition_lag import parameters

FULL, QUICK = parameters(False), parameters(True)


def on_partition(ids: list[str], count: int) -> dict[int, int]:
    return dict(Counter(int(event[8:12]) % count for event in ids))


def test_balanced_is_360_events_120_a_partition_30_an_account() -> None:
    ids = FULL["ids"]["balanced"]
    assert (360, 360, {0: 120, 1: 120, 2: 120}) == (len(ids), len(set(ids)), on_partition(ids, 3))
    assert {30} == set(Counter(event[:12] for event in ids).values())


def test_hot_is_360_events_216_of_them_on_partition_0_most_of_one_account() -> None:
    ids = FULL["ids"]["hot"]
    assert (360, {0: 216, 1: 72, 2: 72}) == (len(set(ids)), on_partition(ids, 3))
    assert ("account-0003", 162) == Counter(event[:12] for event in ids).most_common(1)[0]
    assert {"0": 216, "1": 72, "2": 72} == FULL["hot_counts"]


def test_the_twelve_new_ones_have_sequence_31_and_six_partitions() -> None:
    assert [f"account-{number:04}-031" for number in range(1, 13)] == FULL["new_ids"]
    assert dict.fromkeys(range(6), 2) == on_partition(FULL["new_ids"], 6)


@pytest.mark.parametrize("found", [FULL, QUICK])
@pytest.mark.parametrize("profile", ["balanced", "hot"])
def test_each_account_is_sent_in_its_order(found: dict[str, dict[str, list[str]]], profile: str) -> None:
    for account in {event[:12] for event in found["ids"][profile]}:
        mine = [int(event[13:]) for event in found["ids"][profile] if event.startswith(account)]
        assert list(range(1, len(mine) + 1)) == mine


def test_ten_a_and_ten_b() -> None:
    assert (10, 10, 20) == (len(FULL["a_ids"]), len(FULL["b_ids"]), len(set(FULL["ids"]["isr"])))
