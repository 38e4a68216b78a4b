"""Each criterion of crash-window with an example that is met, ones that are broken, and ones that are unknown."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest

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
from drills.model.seen import CaseSeen, Seen
from drills.model.verdict import Judgement, Verdict
from tests.unit.drills.criteria.crash_window import (
    IDS,
    NEW,
    PARAMETERS,
    again,
    but,
    case,
    checkpoint,
    fault,
    hook,
    once,
    queue,
    seen,
    with_drain,
    without_bite,
)

PASS, FAIL, UNKNOWN, NOT_RUN = Verdict.PASS, Verdict.FAIL, Verdict.UNKNOWN, Verdict.NOT_RUN
CONFIRMED = {event: ["confirmed"] for event in IDS}
AFTER, BEFORE, HELD = "AFTER_DB_COMMIT_BEFORE_ACK", "BEFORE_DB_COMMIT", "AFTER_CONFIRM_BEFORE_LEDGER"
KILL, STOP = fault("kill_worker"), fault("stop_node")
Judge = Callable[[Seen], Judgement]

AGREE = {"disagreements": [], "silent": []}
BASELINE = case(
    {
        "outcomes_before": CONFIRMED, "queue_before": queue(messages=5, ready=5), "witnesses_before": AGREE,
        "checkpoint": checkpoint(once()),
    },
)  # fmt: skip
AT_HOOK = {
    "at_hook": checkpoint(once(["E002", "E050"])),
    "queue_at_hook": queue(messages=4, unacked=1),
    "deliveries": again(),
}
AFTER_COMMIT = case({**AT_HOOK, "checkpoint": checkpoint(once())}, changes=[KILL], hooks=[hook(AFTER, "E050")])
NOTHING = {"at_hook": checkpoint(once(["E002"])), "after_kill": checkpoint(once(["E002"])), "deliveries": again()}
BEFORE_COMMIT = case({**NOTHING, "checkpoint": checkpoint(once())}, changes=[KILL], hooks=[hook(BEFORE, "E025")])
NO_INBOX = case({"checkpoint": checkpoint({**once(), "E005": 2}, inbox=[])})
TWICE = case({"checkpoint": checkpoint(once(), aside=["E005"])})
LOST = [event for event in IDS if event != "E001"]
EARLY_HOOK = {"at_hook": checkpoint(once(["E002"])), "queue_at_hook": queue(messages=3)}
EARLY_ACK = case({**EARLY_HOOK, "checkpoint": checkpoint(once(LOST))}, changes=[KILL], hooks=[hook(BEFORE, "E001")])
AT_FIRST = case({"checkpoint": checkpoint(once()), "deliveries": again()}, changes=[KILL], hooks=[hook(BEFORE, "E001")])
OPEN = {"U001": ["pending"]}
PUBLISHER = case(
    {
        "queue_at_hook": queue(messages=1), "ledger_at_hook": OPEN, "ledger_after_kill": OPEN,
        "checkpoint": checkpoint(once(["U001"])),
    },
    outcomes={"U001": ["pending", "confirmed"]}, changes=[KILL], hooks=[hook(HELD, "U001")],
)  # fmt: skip
LEADER = case(
    {
        "outcomes_before": CONFIRMED, "queue_before": queue(ready=5), "stopped": "n1",
        "queue_after": queue(leader="n2", online=["n2", "n3"]), "read_without_it": checkpoint(once()),
        "checkpoint": checkpoint(once()),
    },
    changes=[STOP],
)  # fmt: skip
MINORITY = queue(leader=None, online=["n3"])
LATE = {"E101": ["confirmed"], "E102": ["unknown", "confirmed"]}
MAJORITY = case(
    {
        "outcomes_before": CONFIRMED, "minority_before": MINORITY, "minority_after": MINORITY, "retried": ["E102"],
        "outcomes_without_majority": {**CONFIRMED, "E101": ["unknown"], "E102": ["unknown"]},
        "checkpoint": checkpoint(once([*IDS, *NEW])),
    },
    outcomes={**CONFIRMED, **LATE}, changes=[STOP, STOP],
)  # fmt: skip


def judged(judge: Judge, **cases: CaseSeen) -> tuple[Verdict, tuple[str, ...]]:
    found = judge(seen(**cases))
    return found.verdict, found.ids


MET = [
    (c1_baseline.judge, {"baseline": BASELINE}),
    (c2_after_commit.judge, {"after_commit": AFTER_COMMIT}),
    (c3_before_commit.judge, {"before_commit": BEFORE_COMMIT}),
    (c4_same_id_twice.judge, {"control_no_inbox": NO_INBOX, "same_id_twice": TWICE}),
    (c5_early_ack.judge, {"control_early_ack": EARLY_ACK, "crash_at_first": AT_FIRST}),
    (c6_publisher_crash.judge, {"publisher_crash": PUBLISHER}),
    (c7_leader_loss.judge, {"leader_loss": LEADER}),
    (c8_majority_loss.judge, {"majority_loss": MAJORITY}),
]


@pytest.mark.parametrize(("judge", "cases"), MET)
def test_met(judge: Judge, cases: dict[str, CaseSeen]) -> None:
    assert (PASS, ()) == judged(judge, **cases)


@pytest.mark.parametrize(("judge", "cases"), MET)
def test_without_a_proven_drain_it_is_unknown(judge: Judge, cases: dict[str, CaseSeen]) -> None:
    for name, one in cases.items():
        assert (UNKNOWN, ()) == judged(judge, **{**cases, name: with_drain(one)}), name


@pytest.mark.parametrize(("judge", "cases"), MET[1:3] + MET[4:])
def test_without_the_bite_it_is_unknown(judge: Judge, cases: dict[str, CaseSeen]) -> None:
    for name, one in cases.items():
        assert (UNKNOWN, ()) == judged(judge, **{**cases, name: without_bite(one)}), name


@pytest.mark.parametrize(("judge", "cases"), MET)
def test_what_was_not_played_was_not_run_and_what_broke_off_is_unknown(
    judge: Judge, cases: dict[str, CaseSeen]
) -> None:
    assert (NOT_RUN, ()) == judged(judge)
    assert (UNKNOWN, ()) == judged(
        judge, **{name: dataclasses.replace(one, finished=False) for name, one in cases.items()}
    )


@pytest.mark.parametrize(("judge", "cases"), MET)
def test_an_effect_that_is_missing_after_a_proven_drain_is_named(judge: Judge, cases: dict[str, CaseSeen]) -> None:
    name, one = list(cases.items())[-1]
    event = next(iter(one.facts["outcomes"]))
    effects = {other: 1 for other in one.facts["checkpoint"]["effects"] if other != event}
    kept = [row["event_id"] for row in one.facts["checkpoint"]["quarantine"]]
    less = case(
        {**one.facts, "checkpoint": checkpoint(effects, aside=kept)},
        outcomes=one.facts["outcomes"], changes=one.changes, hooks=one.hooks,
    )  # fmt: skip
    verdict, ids = judged(judge, **{**cases, name: less})
    assert (FAIL, True) == (verdict, event in ids)


@pytest.mark.parametrize(("judge", "cases"), MET)
def test_a_double_effect_is_named_even_without_a_drain(judge: Judge, cases: dict[str, CaseSeen]) -> None:
    name, one = list(cases.items())[-1]
    event = next(iter(one.facts["outcomes"]))
    found = one.facts["checkpoint"]
    doubled = {**found, "effects": {**found["effects"], event: 2}}
    assert (FAIL, (event,)) == judged(judge, **{**cases, name: with_drain(but(one, checkpoint=doubled))})


BROKEN = {
    "1 one not confirmed": (
        c1_baseline.judge,
        {"baseline": but(BASELINE, outcomes_before={**CONFIRMED, "E005": ["returned"]})},
        ("E005",),
    ),
    "1 depth": (c1_baseline.judge, {"baseline": but(BASELINE, queue_before=queue(ready=4))}, ()),
    "1 consumer too early": (
        c1_baseline.judge,
        {"baseline": but(BASELINE, queue_before=queue(ready=5, consumers=1))},
        (),
    ),
    "2 acked at the hook": (
        c2_after_commit.judge,
        {"after_commit": but(AFTER_COMMIT, queue_at_hook=queue(messages=3, unacked=1))},
        ("E050",),
    ),
    "2 no effect at the hook": (
        c2_after_commit.judge,
        {"after_commit": but(AFTER_COMMIT, at_hook=checkpoint(once(["E002"])))},
        ("E050",),
    ),
    "2 not again": (c2_after_commit.judge, {"after_commit": but(AFTER_COMMIT, deliveries=again()[:1])}, ("E050",)),
    "2 not marked": (
        c2_after_commit.judge,
        {"after_commit": but(AFTER_COMMIT, deliveries=again(redelivered=False))},
        ("E050",),
    ),
    "3 committed at the hook": (
        c3_before_commit.judge,
        {"before_commit": but(BEFORE_COMMIT, at_hook=checkpoint(once(["E025"])))},
        ("E025",),
    ),
    "3 left by the kill": (
        c3_before_commit.judge,
        {"before_commit": but(BEFORE_COMMIT, after_kill=checkpoint(once(["E025"])))},
        ("E025",),
    ),
    "4 the control is right": (
        c4_same_id_twice.judge,
        {"control_no_inbox": case({"checkpoint": checkpoint(once())}), "same_id_twice": TWICE},
        ("E005",),
    ),
    "4 not set aside": (
        c4_same_id_twice.judge,
        {"control_no_inbox": NO_INBOX, "same_id_twice": case({"checkpoint": checkpoint(once())})},
        ("E005",),
    ),
    "4 another set aside": (
        c4_same_id_twice.judge,
        {
            "control_no_inbox": NO_INBOX,
            "same_id_twice": case({"checkpoint": checkpoint(once(), aside=["E005", "E001"])}),
        },
        ("E001",),
    ),
    "5 the control lost nothing": (
        c5_early_ack.judge,
        {
            "control_early_ack": case(
                {**EARLY_ACK.facts, "checkpoint": checkpoint(once())}, changes=[KILL], hooks=EARLY_ACK.hooks
            ),
            "crash_at_first": AT_FIRST,
        },
        ("E001",),
    ),
    "5 the control had not acked": (
        c5_early_ack.judge,
        {"control_early_ack": but(EARLY_ACK, queue_at_hook=queue(messages=4)), "crash_at_first": AT_FIRST},
        ("E001",),
    ),
    "6 confirmed in the ledger": (
        c6_publisher_crash.judge,
        {"publisher_crash": but(PUBLISHER, ledger_after_kill={"U001": ["confirmed"]})},
        ("U001",),
    ),
    "6 not sent again": (c6_publisher_crash.judge, {"publisher_crash": but(PUBLISHER, outcomes=OPEN)}, ("U001",)),
    "7 no new leader": (c7_leader_loss.judge, {"leader_loss": but(LEADER, queue_after=queue(leader="n1"))}, ()),
    "7 not read meanwhile": (
        c7_leader_loss.judge,
        {"leader_loss": but(LEADER, read_without_it=checkpoint(once(LOST)))},
        ("E001",),
    ),
    "8 confirmed without a majority": (
        c8_majority_loss.judge,
        {
            "majority_loss": but(
                MAJORITY, outcomes_without_majority={**CONFIRMED, "E101": ["confirmed"], "E102": ["unknown"]}
            )
        },
        ("E101",),
    ),
    "8 left unknown": (
        c8_majority_loss.judge,
        {"majority_loss": but(MAJORITY, outcomes={**CONFIRMED, **LATE, "E102": ["unknown"]})},
        ("E102",),
    ),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_broken(broken: tuple[Judge, dict[str, CaseSeen], tuple[str, ...]]) -> None:
    judge, cases, ids = broken
    assert (FAIL, ids) == judged(judge, **cases)


UNKNOWNS = {
    "1 depth not told": (c1_baseline.judge, {"baseline": but(BASELINE, queue_before=queue(ready=None))}),
    "1 one not known to be confirmed": (
        c1_baseline.judge,
        {"baseline": but(BASELINE, outcomes_before={**CONFIRMED, "E005": ["unknown"]})},
    ),
    "6 sent again without an answer": (
        c6_publisher_crash.judge,
        {"publisher_crash": but(PUBLISHER, outcomes={"U001": ["pending", "unknown"]})},
    ),
    "8 sent again without an answer": (
        c8_majority_loss.judge,
        {"majority_loss": but(MAJORITY, outcomes={**CONFIRMED, **LATE, "E102": ["unknown", "unknown"]})},
    ),
    "1 witnesses disagree": (
        c1_baseline.judge,
        {"baseline": but(BASELINE, witnesses_before={"disagreements": ["ready: 5, 4"]})},
    ),
    "2 unacked not told": (
        c2_after_commit.judge,
        {"after_commit": but(AFTER_COMMIT, queue_at_hook=queue(messages=4, unacked=None))},
    ),
    "2 not held": (c2_after_commit.judge, {"after_commit": dataclasses.replace(AFTER_COMMIT, hooks=[])}),
    "3 database not read": (c3_before_commit.judge, {"before_commit": but(BEFORE_COMMIT, after_kill=None)}),
    "4 control not read": (
        c4_same_id_twice.judge,
        {"control_no_inbox": but(NO_INBOX, checkpoint=None), "same_id_twice": TWICE},
    ),
    "5 depth not told": (
        c5_early_ack.judge,
        {"control_early_ack": but(EARLY_ACK, queue_at_hook=queue(messages=None)), "crash_at_first": AT_FIRST},
    ),
    "6 not in the queue": (
        c6_publisher_crash.judge,
        {"publisher_crash": but(PUBLISHER, queue_at_hook=queue(messages=0))},
    ),
    "7 a follower was stopped": (c7_leader_loss.judge, {"leader_loss": but(LEADER, stopped="n2")}),
    "7 two replicas before": (
        c7_leader_loss.judge,
        {"leader_loss": but(LEADER, queue_before=queue(ready=5, online=["n1", "n2"]))},
    ),
    "8 still a majority": (
        c8_majority_loss.judge,
        {"majority_loss": but(MAJORITY, minority_after=queue(online=["n1", "n3"]))},
    ),
    "8 nothing sent again": (c8_majority_loss.judge, {"majority_loss": but(MAJORITY, retried=[])}),
}


@pytest.mark.parametrize("unknown", UNKNOWNS.values(), ids=UNKNOWNS)
def test_unknown(unknown: tuple[Judge, dict[str, CaseSeen]]) -> None:
    judge, cases = unknown
    assert (UNKNOWN, ()) == judged(judge, **cases)


def test_a_quick_run_says_that_it_is_not_the_full_proof() -> None:
    quick = Seen({**PARAMETERS, "full_events": 100}, {"baseline": BASELINE})
    assert c1_baseline.judge(quick).because.endswith(
        "(quick: 5 events where the criterion has 100: not the full proof)"
    )
