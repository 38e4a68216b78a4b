"""`partition-lag`: lag has a partition and an age, on Kafka with a database behind it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from drills.actors.partitioner import account_of, partition_of
from drills.criteria.partition_lag import (
    c1_balanced,
    c2_hot,
    c3_groups,
    c4_raise_held,
    c5_raise_drained,
    c6_isr_two,
    c7_isr_one,
    c8_isr_back,
)
from drills.engine.drill import Case, Criterion, Drill
from drills.scenes.partition_lag.growth import RaiseDrained, RaiseHeld
from drills.scenes.partition_lag.isr_loss import IsrLoss
from drills.scenes.partition_lag.lag import Balanced, GroupOf, Hot
from drills.scenes.wrong import Wrong

ACCOUNTS = [f"account-{number:04}" for number in range(1, 13)]
HOT = "account-0003"  # of partition 0 with three partitions, and of 3 with six
EACH, QUICK_EACH = 30, 5  # events of each account in B
COLD, QUICK_COLD = 18, 3  # of each account but the hot one in H
HOT_ONES, QUICK_HOT_ONES = 162, 27
TEN = range(1, 11)


def parameters(quick: bool) -> dict[str, Any]:
    """Counts, IDs in the order in which they are sent, and deadlines (seconds). `quick` plays a sixth of the events."""
    each, cold, hot = (QUICK_EACH, QUICK_COLD, QUICK_HOT_ONES) if quick else (EACH, COLD, HOT_ONES)
    hot_ids = _rounds({name: hot if name == HOT else cold for name in ACCOUNTS})
    a_ids, b_ids = ([f"account-{number:04}-{letter}{number:02}" for number in TEN] for letter in "AB")
    counts = Counter(str(partition_of(account_of(event), 3)) for event in hot_ids)
    return {
        "quick": quick,
        "events": each * len(ACCOUNTS),
        "full_events": EACH * len(ACCOUNTS),
        "ids": {"balanced": _rounds(dict.fromkeys(ACCOUNTS, each)), "hot": hot_ids, "isr": [*a_ids, *b_ids]},
        "hot_counts": dict(sorted(counts.items())),
        "new_ids": [f"{name}-{each + 1:03}" for name in ACCOUNTS],
        "a_ids": a_ids,
        "b_ids": b_ids,
        "confirm_seconds": 30,
        "b_seconds": 20,
        "metadata_seconds": 30,
        "group_seconds": 90,
        "drain_seconds": 120,
        "isr_seconds": 60,
        "seen_seconds": 45,
    }


def _rounds(counts: Mapping[str, int]) -> list[str]:
    """One event of each account after the other, by sequence, for as long as an account has some."""
    return [
        f"{name}-{number:03}" for number in range(1, max(counts.values()) + 1) for name in counts
        if number <= counts[name]
    ]  # fmt: skip


def drill(wrong: Wrong | None = None) -> Drill:
    """The drill. With something wrong it is the proof that it objects (tests/mutants), and nothing else."""
    return Drill(
        name="partition-lag",
        question="Which partition lags, how old is it, and what do partitions and replicas do to order and acks?",
        question_vi="Partition nào trễ, trễ bao lâu; thêm partition hay bớt replica ảnh hưởng gì đến thứ tự và acks?",
        systems=("kafka",),
        cases=_cases(wrong or Wrong()),
        criteria=CRITERIA,
        parameters=parameters,
    )


def _cases(wrong: Wrong) -> list[Case]:
    return [
        Balanced("balanced", "every partition gets as much", wrong),
        Hot("hot", "one account is hot, and its partition is held", wrong),
        GroupOf(1, wrong),
        GroupOf(3, wrong),
        GroupOf(5, wrong),
        RaiseHeld(
            "control-raise-held", "partitions are raised while old records wait", wrong, negative_control=True
        ),
        RaiseDrained("raise-drained", "partitions are raised after everything was drained", wrong),
        IsrLoss("isr-loss", "followers are stopped until one replica is in sync", wrong),
    ]  # fmt: skip


CRITERIA = (
    Criterion(
        1, "B: 360 delivery records (ID, key, partition, offset) match the partition oracle, 120 a partition",
        "B: 360 delivery record (ID, key, partition, offset) khớp oracle, 120 mỗi partition",
        c1_balanced.judge, ("balanced",),
    ),
    Criterion(
        2, "H: p0 held: lag 216 / 0 / 0 from exporter, admin API and log; only p0's oldest message grows older",
        "H: giữ p0: lag 216 / 0 / 0 theo exporter, admin API và log; chỉ tuổi message của p0 tăng",
        c2_hot.judge, ("hot",),
    ),
    Criterion(
        3, "Groups of 1, 3 and 5 with a pinned strategy: stable, 0, 0 and 2 members idle, and the exporter says so",
        "Group 1, 3 và 5 member, strategy cố định: ổn định, 0, 0 và 2 member rảnh, exporter cũng báo vậy",
        c3_groups.judge, ("group-of-1", "group-of-3", "group-of-5"),
    ),
    Criterion(
        4, "X unsafe (control): raised to 6 with old records held: account-0003 shows 31 applied before older ones",
        "X không an toàn (đối chứng): tăng lên 6 khi còn record cũ: account-0003 áp dụng 31 trước các record cũ",
        c4_raise_held.judge, ("control-raise-held",),
    ),
    Criterion(
        5, "X safe: producer stopped, 360 drained, raised, then 12: in order, 372 effects; fewer partitions refused",
        "X an toàn: ngừng producer, drain 360, tăng partition, rồi 12: đúng thứ tự, 372 effect; không giảm được",
        c5_raise_drained.judge, ("raise-drained",),
    ),
    Criterion(
        6, "I: one follower stopped, ISR=2 observed: 10 A-IDs succeed with acks=all",
        "I: dừng một follower, thấy ISR=2: 10 ID A thành công với acks=all",
        c6_isr_two.judge, ("isr-loss",),
    ),
    Criterion(
        7, "I: ISR=1 observed, controllers have a majority: 10 B-IDs each with its own error, none acknowledged; alert",
        "I: thấy ISR=1, controller còn đa số: 10 ID B đều có lỗi riêng, không ID nào được ack; có cảnh báo",
        c7_isr_one.judge, ("isr-loss",),
    ),
    Criterion(
        8, "Followers back, ISR=3: B retried by ID and reconciled; A and B each exactly once in effect",
        "Follower trở lại, ISR=3: gửi lại B theo ID và đối soát; A và B mỗi ID đúng một hiệu ứng",
        c8_isr_back.judge, ("isr-loss",),
    ),
)  # fmt: skip

DRILL = drill()
