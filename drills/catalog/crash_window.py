"""`crash-window`: confirm, ack, and the window between them, on RabbitMQ with a database behind it."""

from __future__ import annotations

from typing import Any

from drills.criteria.crash_window import (
    c1_baseline,
    c2_after_commit,
    c3_before_commit,
    c4_same_id_twice,
    c5_early_ack,
    c6_publisher_crash,
    c7_leader_loss,
    c8_majority_loss,
)
from drills.engine.drill import Case, Criterion, Drill
from drills.scenes.crash_window.consumer_crash import ConsumerCrash
from drills.scenes.crash_window.leader_loss import LeaderLoss
from drills.scenes.crash_window.majority_loss import MajorityLoss
from drills.scenes.crash_window.publisher_crash import PublisherCrash
from drills.scenes.crash_window.whole import Baseline, SameIdTwice
from drills.scenes.wrong import CONTROLS_ARE_RIGHT, Wrong

EVENTS, QUICK_EVENTS, NEW_EVENTS = 100, 20, 10
NAMED = {"after-commit": "E050", "before-commit": "E025", "same-id-twice": "E005", "crash-at-first": "E001"}
NAMED |= {"control-no-inbox": "E005", "control-early-ack": "E001", "baseline": "E001"}
NAMED |= {"leader-loss": "E001", "majority-loss": "E001"}


def parameters(quick: bool) -> dict[str, Any]:
    """Counts, IDs and deadlines (seconds). `quick` plays fewer events; the IDs that are named stay what they are."""
    events = QUICK_EVENTS if quick else EVENTS
    ids = {case: _ids(events, named) for case, named in NAMED.items()}
    return {
        "quick": quick,
        "events": events,
        "full_events": EVENTS,
        "ids": {**ids, "publisher-crash": ["U001"]},
        "new_ids": [f"E{EVENTS + number:03}" for number in range(1, NEW_EVENTS + 1)],
        "confirm_seconds": 20,
        "confirm_seconds_without_majority": 8,
        "late_confirm_seconds": 10,
        "hook_seconds": 60,
        "drain_seconds": 90,
        "election_seconds": 60,
        "seen_seconds": 45,
    }


def drill(wrong: Wrong | None = None) -> Drill:
    """The drill. With something wrong it is the proof that it objects (tests/mutants), and nothing else."""
    return Drill(
        name="crash-window",
        question="Does a crash between commit and ack, or between confirm and ledger, lose an event or do it twice?",
        question_vi="Chết giữa commit và ack, hoặc giữa confirm và sổ ghi: có sự kiện nào mất hay áp dụng hai lần?",
        systems=("rabbitmq",),
        cases=_cases(wrong or Wrong()),
        criteria=CRITERIA,
        parameters=parameters,
    )


def _cases(wrong: Wrong) -> list[Case]:
    design = None if wrong.environment == CONTROLS_ARE_RIGHT else "no_inbox"
    early = None if wrong.environment == CONTROLS_ARE_RIGHT else "ack_before_commit"
    after, before = "AFTER_DB_COMMIT_BEFORE_ACK", "BEFORE_DB_COMMIT"
    return [
        Baseline("baseline", "all events, and no fault", wrong),
        ConsumerCrash("after-commit", "the consumer dies after the commit and before the ack", wrong, after, "E050"),
        ConsumerCrash("before-commit", "the consumer dies before the commit", wrong, before, "E025"),
        SameIdTwice(
            "control-no-inbox", "one event twice, without a unique key", wrong, "E005", design, negative_control=True
        ),
        SameIdTwice("same-id-twice", "one event twice, and once with another payload", wrong, "E005"),
        ConsumerCrash(
            "control-early-ack", "the ack comes before the commit, then a crash", wrong, before, "E001", early,
            negative_control=True,
        ),
        ConsumerCrash("crash-at-first", "the same crash with the ack after the commit", wrong, before, "E001"),
        PublisherCrash("publisher-crash", "the publisher dies between confirm and ledger", wrong),
        LeaderLoss("leader-loss", "the node of the queue's leader is stopped", wrong),
        MajorityLoss("majority-loss", "two of three replicas are stopped", wrong),
    ]  # fmt: skip


def _ids(events: int, named: str) -> list[str]:
    """E001 to the last; the named event takes the last place where it would be beyond."""
    ids = [f"E{number:03}" for number in range(1, events + 1)]
    return ids if named in ids else [*ids[:-1], named]


CRITERIA = (
    Criterion(
        1, "Baseline: 100 confirmed and queued before the consumer; then the inbox is these IDs and the counter 100",
        "Cơ sở: 100 confirm và 100 message trong queue trước consumer; sau đó inbox đúng các ID đó, bộ đếm 100",
        c1_baseline.judge, ("baseline",),
    ),
    Criterion(
        2, "E050 killed after commit, before ack: seen committed and unacked, redelivered, counter 100, one inbox row",
        "E050 bị kill sau commit, trước ack: đã commit và chưa ack, được giao lại, bộ đếm 100, một dòng inbox",
        c2_after_commit.judge, ("after-commit",),
    ),
    Criterion(
        3, "E025 killed before commit: the rollback is seen before recovery; afterwards one effect",
        "E025 bị kill trước commit: thấy rollback trước khi phục hồi; sau đó đúng một hiệu ứng",
        c3_before_commit.judge, ("before-commit",),
    ),
    Criterion(
        4, "E005 twice: 101 without the unique key (control), 100 with it; another payload is set aside, not applied",
        "E005 hai lần: 101 khi không có khóa duy nhất (đối chứng), 100 khi có; payload khác bị cách ly, không áp dụng",
        c4_same_id_twice.judge, ("control-no-inbox", "same-id-twice"),
    ),
    Criterion(
        5, "E001 acked before commit, then a crash: 99 (control); acked after commit: 100",
        "E001 ack trước commit rồi crash: 99 (đối chứng); ack sau commit: 100",
        c5_early_ack.judge, ("control-early-ack", "crash-at-first"),
    ),
    Criterion(
        6, "U001 confirmed, publisher killed before its ledger: PENDING, sent again by ID, one effect, recovered",
        "U001 đã confirm, publisher bị kill trước khi ghi sổ: PENDING, gửi lại cùng ID, một hiệu ứng, recovered",
        c6_publisher_crash.judge, ("publisher-crash",),
    ),
    Criterion(
        7, "Three replicas, 100 confirmed, the leader's node stopped: a new leader, and all 100 are read",
        "Ba replica, 100 confirm, dừng node leader: có leader mới và đọc đủ 100",
        c7_leader_loss.judge, ("leader-loss",),
    ),
    Criterion(
        8, "Two replicas down, 10 new IDs: none confirmed; retried after the return; 110 IDs with one effect each",
        "Hai replica dừng, 10 ID mới: không ID nào được confirm; gửi lại sau khi phục hồi; 110 ID, mỗi ID một hiệu ứng",
        c8_majority_loss.judge, ("majority-loss",),
    ),
)  # fmt: skip

DRILL = drill()
