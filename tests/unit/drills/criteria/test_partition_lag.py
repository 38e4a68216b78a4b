"""Each criterion of partition-lag with an example that is met, ones that are broken, and ones that are unknown."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from drills.criteria.partition_lag import (
    c1_balanced,
    c2_hot,
    c3_groups,
    c4_raise_held,
    c5_raise_drained,
    c6_isr_two,
    c7_isr_one,
    c8_isr_back,
    oracle,
)
from drills.model.seen import CaseSeen, Seen
from drills.model.verdict import Judgement, Verdict
from tests.unit.drills.criteria.crash_window import but, checkpoint, once, with_drain, without_bite
from tests.unit.drills.criteria.partition_lag import (
    HOT,
    MOVED,
    NEW,
    OLD,
    PARAMETERS,
    RAISE,
    STOP,
    A,
    B,
    case,
    confirmed,
    group,
    lag,
    offsets,
    replicas,
    reports,
    seen,
)

PASS, FAIL, UNKNOWN, NOT_RUN = Verdict.PASS, Verdict.FAIL, Verdict.UNKNOWN, Verdict.NOT_RUN
Judge = Callable[[Seen], Judgement]

BALANCED = case(
    {
        "outcomes_before": confirmed(OLD), "delivery_records": reports(OLD), "log": reports(OLD),
        "lag_before": lag(20, 20, 20), "offsets_before": offsets(0, 20),
    },
    OLD,
)  # fmt: skip
DONE_OF_OTHERS = [
    event for event in HOT if event[:12] not in ("account-0003", "account-0006", "account-0009", "account-0012")
]
HELD_ONES = sorted(set(HOT) - set(DONE_OF_OTHERS))
HELD_OFFSETS = {**offsets(12, 12), "committed": {"0": 0, "1": 12, "2": 12}}
HOT_CASE = case(
    {
        "outcomes_before": confirmed(HOT), "delivery_records": reports(HOT), "lag_before": lag(36, 12, 12),
        "offsets_held": HELD_OFFSETS, "at_hold": checkpoint(once(DONE_OF_OTHERS)), "lag_held": lag(36),
        "ages_first": {"0": 3.0, "1": 0.0, "2": 0.0}, "ages_later": {"0": 9.0, "1": 0.0, "2": 0.0},
    },
    HOT,
)  # fmt: skip
GROUPS = {f"group_of_{size}": case({"group": group(size)}, OLD) for size in (1, 3, 5)}
GROWN = {"producer_metadata": 6, "delivery_records": reports(OLD, NEW)}
EARLY = [event for event in NEW if event[:12] in MOVED]
HELD = case({**GROWN, "order": [*EARLY, *OLD, *(set(NEW) - set(EARLY))]}, [*OLD, *NEW], changes=[RAISE])
SAFE = {
    "producer_stopped": {"gone": True}, "offsets_before_raise": offsets(20, 20), "before_raise": checkpoint(once(OLD)),
    "refusal": {"asked": 3, "said": "InvalidPartitionsError: fewer"}, "partitions_after_refusal": [{}] * 6,
}  # fmt: skip
DRAINED = case({**GROWN, **SAFE, "order": [*OLD, *NEW]}, [*OLD, *NEW], changes=[RAISE])
ERRORS = {event: {"outcome": "nacked", "error": "NOT_ENOUGH_REPLICAS"} for event in B}
NOT_YET = {event: ["nacked"] for event in B}
ISR = case(
    {
        "isr_before": replicas(1, 2, 3), "isr_two": replicas(1, 2), "isr_one": replicas(1),
        "isr_one_after": replicas(1), "isr_back": replicas(1, 2, 3), "outcomes_a": confirmed(A),
        "outcomes_b": {**confirmed(A), **NOT_YET},
        "errors_b": ERRORS, "quorum_without": {"leader": 101, "epoch": 3, "voters": [101, 102, 103]},
        "under_min_isr": 1.0, "alert": ["firing"], "retried": B,
    },
    [*A, *B], outcomes={**confirmed(A), **{event: ["nacked", "confirmed"] for event in B}}, changes=[STOP, STOP],
)  # fmt: skip


def judged(judge: Judge, **cases: CaseSeen) -> tuple[Verdict, tuple[str, ...]]:
    found = judge(seen(**cases))
    return found.verdict, found.ids


MET: list[tuple[Judge, dict[str, CaseSeen]]] = [
    (c1_balanced.judge, {"balanced": BALANCED}),
    (c2_hot.judge, {"hot": HOT_CASE}),
    (c3_groups.judge, GROUPS),
    (c4_raise_held.judge, {"control_raise_held": HELD}),
    (c5_raise_drained.judge, {"raise_drained": DRAINED}),
    (c6_isr_two.judge, {"isr_loss": ISR}),
    (c7_isr_one.judge, {"isr_loss": ISR}),
    (c8_isr_back.judge, {"isr_loss": ISR}),
]
DRAINED_ONES = [*MET[:5], MET[7]]  # 6 and 7 are about the moment of the send, and need no drain


@pytest.mark.parametrize(("judge", "cases"), MET)
def test_met(judge: Judge, cases: dict[str, CaseSeen]) -> None:
    found = judge(seen(**cases))
    assert (PASS, ()) == (found.verdict, found.ids), found.because


@pytest.mark.parametrize(("judge", "cases"), DRAINED_ONES)
def test_without_a_proven_drain_it_is_unknown(judge: Judge, cases: dict[str, CaseSeen]) -> None:
    for name, one in cases.items():
        assert (UNKNOWN, ()) == judged(judge, **{**cases, name: with_drain(one)}), name


@pytest.mark.parametrize(("judge", "cases"), MET[3:5] + MET[6:])
def test_without_the_bite_it_is_unknown(judge: Judge, cases: dict[str, CaseSeen]) -> None:
    for name, one in cases.items():
        assert (UNKNOWN, ()) == judged(judge, **{**cases, name: without_bite(one)}), name


@pytest.mark.parametrize(("judge", "cases"), MET)
def test_what_was_not_played_was_not_run_and_what_broke_off_is_unknown(
    judge: Judge, cases: dict[str, CaseSeen]
) -> None:
    assert (NOT_RUN, ()) == judged(judge)
    broken_off = {name: dataclasses.replace(one, finished=False) for name, one in cases.items()}
    assert (UNKNOWN, ()) == judged(judge, **broken_off)


@pytest.mark.parametrize(("judge", "cases"), DRAINED_ONES)
def test_a_double_effect_is_named_even_without_a_drain(judge: Judge, cases: dict[str, CaseSeen]) -> None:
    name, one = list(cases.items())[-1]
    found = one.facts["checkpoint"]
    event = next(iter(found["effects"]))
    doubled = {**found, "effects": {**found["effects"], event: 2}}
    assert (FAIL, (event,)) == judged(judge, **{**cases, name: with_drain(but(one, checkpoint=doubled))})


@pytest.mark.parametrize(("judge", "cases"), DRAINED_ONES)
def test_an_effect_that_is_missing_after_a_proven_drain_is_named(judge: Judge, cases: dict[str, CaseSeen]) -> None:
    name, one = list(cases.items())[-1]
    effects = dict(one.facts["checkpoint"]["effects"])
    event = next(iter(effects))
    del effects[event]
    facts = {key: value for key, value in one.facts.items() if key != "checkpoint"}
    less = case(facts, [], outcomes=one.facts["outcomes"], changes=one.changes, effects=effects)
    assert (FAIL, (event,)) == judged(judge, **{**cases, name: less})


def placed(event: str, **values: Any) -> list[dict[str, Any]]:
    """Reports of B in which one event's is another."""
    return [{**one, **values} if one["event_id"] == event else one for one in reports(OLD)]


FIRST, MOVED_ONE, STAYED_ONE = OLD[0], "account-0003-006", "account-0006-006"
BROKEN: dict[str, tuple[Judge, dict[str, CaseSeen], tuple[str, ...]]] = {
    "1 another partition": (
        c1_balanced.judge,
        {"balanced": but(BALANCED, delivery_records=placed(FIRST, partition=2), log=placed(FIRST, partition=2))},
        (FIRST,),
    ),
    "1 another key": (
        c1_balanced.judge,
        {"balanced": but(BALANCED, delivery_records=placed(FIRST, key="x"), log=placed(FIRST, key="x"))},
        (FIRST,),
    ),
    "1 not in the log": (c1_balanced.judge, {"balanced": but(BALANCED, log=placed(FIRST, event_id="other"))}, (FIRST,)),
    "1 one witness of the lag": (
        c1_balanced.judge,
        {"balanced": but(BALANCED, lag_before={**lag(20, 20, 20), "exporter": lag(19, 20, 20)["admin"]})},
        (),
    ),
    "1 returned": (
        c1_balanced.judge,
        {"balanced": but(BALANCED, outcomes_before={**confirmed(OLD), FIRST: ["returned"]})},
        (FIRST,),
    ),
    "2 the exporter alone says another lag": (
        c2_hot.judge,
        {"hot": but(HOT_CASE, lag_held={**lag(36), "exporter": lag(35)["admin"]})},
        (),
    ),
    "2 an age without lag": (c2_hot.judge, {"hot": but(HOT_CASE, ages_later={"0": 9.0, "1": 2.0, "2": 0.0})}, ()),
    "2 the age stands still": (c2_hot.judge, {"hot": but(HOT_CASE, ages_later={"0": 3.0, "1": 0.0, "2": 0.0})}, ()),
    "2 committed without being done": (
        c2_hot.judge,
        {"hot": but(HOT_CASE, offsets_held=offsets(36, 36))},
        tuple(HELD_ONES),
    ),
    "3 one member less": (
        c3_groups.judge,
        {**GROUPS, "group_of_5": but(GROUPS["group_of_5"], group=group(4))},
        (),
    ),
    "3 a partition twice": (
        c3_groups.judge,
        {
            **GROUPS,
            "group_of_3": but(
                GROUPS["group_of_3"], group=group(3, members=[{"client": "c", "partitions": [0, 0, 1]}] * 3)
            ),
        },
        (),
    ),
    "3 the exporter says no one is idle": (
        c3_groups.judge,
        {**GROUPS, "group_of_5": but(GROUPS["group_of_5"], group=group(5, exporter={"members": 5.0, "idle": 0.0}))},
        (),
    ),
    "4 the control is in order": (
        c4_raise_held.judge,
        {"control_raise_held": but(HELD, order=[*OLD, *NEW])},
        (MOVED_ONE,),
    ),
    "4 out of order where nothing moved": (
        c4_raise_held.judge,
        {"control_raise_held": but(HELD, order=[STAYED_ONE, *HELD.facts["order"]])},
        (STAYED_ONE,),
    ),
    "4 not where six partitions put it": (
        c4_raise_held.judge,
        {
            "control_raise_held": but(
                HELD,
                delivery_records=[
                    {**one, "partition": 0} if one["event_id"] == MOVED_ONE else one for one in reports(OLD, NEW)
                ],
            )
        },
        (MOVED_ONE,),
    ),
    "5 raised undrained": (
        c5_raise_drained.judge,
        {"raise_drained": but(DRAINED, before_raise=checkpoint(once(OLD[1:])))},
        (FIRST,),
    ),
    "5 raised with lag": (
        c5_raise_drained.judge,
        {"raise_drained": but(DRAINED, offsets_before_raise=offsets(19, 20))},
        (),
    ),
    "5 out of order": (
        c5_raise_drained.judge,
        {"raise_drained": but(DRAINED, order=[MOVED_ONE, *OLD])},
        (MOVED_ONE,),
    ),
    "5 not refused": (c5_raise_drained.judge, {"raise_drained": but(DRAINED, refusal={"asked": 3, "said": None})}, ()),
    "6 one A not confirmed": (
        c6_isr_two.judge,
        {"isr_loss": but(ISR, outcomes_a={**confirmed(A), A[3]: ["unknown"]})},
        (A[3],),
    ),
    "7 one B acknowledged": (
        c7_isr_one.judge,
        {"isr_loss": but(ISR, outcomes_b={**NOT_YET, B[0]: ["confirmed"]})},
        (B[0],),
    ),
    "7 one B without an error": (
        c7_isr_one.judge,
        {"isr_loss": but(ISR, errors_b={**ERRORS, B[1]: {"outcome": "pending"}})},
        (B[1],),
    ),
    "7 the metric says 0": (c7_isr_one.judge, {"isr_loss": but(ISR, under_min_isr=0.0)}, ()),
    "7 the alert is silent": (c7_isr_one.judge, {"isr_loss": but(ISR, alert=[])}, ()),
    "8 one B left as it was": (
        c8_isr_back.judge,
        {"isr_loss": but(ISR, outcomes={**ISR.facts["outcomes"], B[9]: ["nacked"]})},
        (B[9],),
    ),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_broken(broken: tuple[Judge, dict[str, CaseSeen], tuple[str, ...]]) -> None:
    judge, cases, ids = broken
    assert (FAIL, ids) == judged(judge, **cases)


UNKNOWNS: dict[str, tuple[Judge, dict[str, CaseSeen]]] = {
    "1 no offset in a report": (
        c1_balanced.judge,
        {"balanced": but(BALANCED, delivery_records=placed(FIRST, offset=None))},
    ),
    "1 no report": (
        c1_balanced.judge,
        {"balanced": but(BALANCED, delivery_records=reports(OLD)[:-1], log=reports(OLD))},
    ),
    "1 the log not read": (c1_balanced.judge, {"balanced": but(BALANCED, log=None)}),
    "1 no lag from the exporter": (
        c1_balanced.judge,
        {"balanced": but(BALANCED, lag_before={**lag(20, 20, 20), "exporter": lag(None, 20, 20)["log"]})},
    ),
    "1 the log does not begin at 0": (
        c1_balanced.judge,
        {"balanced": but(BALANCED, offsets_before=offsets(0, 20, start=4))},
    ),
    "2 not held": (c2_hot.judge, {"hot": but(HOT_CASE, at_hold=checkpoint(once(HOT)))}),
    "2 ages not told": (c2_hot.judge, {"hot": but(HOT_CASE, ages_later={"0": None, "1": 0.0, "2": 0.0})}),
    "2 held lag not read": (c2_hot.judge, {"hot": but(HOT_CASE, lag_held=None)}),
    "3 never stable": (
        c3_groups.judge,
        {**GROUPS, "group_of_5": but(GROUPS["group_of_5"], group=group(5, state="PreparingRebalance"))},
    ),
    "3 another strategy": (
        c3_groups.judge,
        {**GROUPS, "group_of_1": but(GROUPS["group_of_1"], group=group(1, strategy="roundrobin"))},
    ),
    "3 the exporter says nothing": (
        c3_groups.judge,
        {**GROUPS, "group_of_1": but(GROUPS["group_of_1"], group=group(1, exporter={"members": 1.0, "idle": None}))},
    ),
    "4 the producer's metadata": (c4_raise_held.judge, {"control_raise_held": but(HELD, producer_metadata=3)}),
    "4 order not read": (c4_raise_held.judge, {"control_raise_held": but(HELD, order=None)}),
    "5 the producer still ran": (
        c5_raise_drained.judge,
        {"raise_drained": but(DRAINED, producer_stopped={"gone": False})},
    ),
    "5 not asked for fewer": (c5_raise_drained.judge, {"raise_drained": but(DRAINED, refusal=None)}),
    "5 order not read": (c5_raise_drained.judge, {"raise_drained": but(DRAINED, order=None)}),
    "6 three still in sync": (c6_isr_two.judge, {"isr_loss": but(ISR, isr_two=replicas(1, 2, 3))}),
    "6 outcomes not read": (c6_isr_two.judge, {"isr_loss": but(ISR, outcomes_a=None)}),
    "7 two still in sync": (c7_isr_one.judge, {"isr_loss": but(ISR, isr_one_after=replicas(1, 2))}),
    "7 no controller": (c7_isr_one.judge, {"isr_loss": but(ISR, quorum_without={"leader": -1, "voters": [101]})}),
    "7 the metric not told": (c7_isr_one.judge, {"isr_loss": but(ISR, under_min_isr=None)}),
    "7 no Prometheus": (c7_isr_one.judge, {"isr_loss": but(ISR, alert=None)}),
    "8 two in sync at the end": (c8_isr_back.judge, {"isr_loss": but(ISR, isr_back=replicas(1, 2))}),
    "8 nothing sent again": (c8_isr_back.judge, {"isr_loss": but(ISR, retried=[])}),
    "8 sent again without an answer": (
        c8_isr_back.judge,
        {"isr_loss": but(ISR, outcomes={**ISR.facts["outcomes"], B[9]: ["nacked", "unknown"]})},
    ),
}


@pytest.mark.parametrize("unknown", UNKNOWNS.values(), ids=UNKNOWNS)
def test_unknown(unknown: tuple[Judge, dict[str, CaseSeen]]) -> None:
    judge, cases = unknown
    found = judge(seen(**cases))
    assert (UNKNOWN, ()) == (found.verdict, found.ids), found.because


def test_a_quick_run_says_that_it_is_not_the_full_proof() -> None:
    quick = Seen({**PARAMETERS, "full_events": 360}, {"balanced": BALANCED})
    assert c1_balanced.judge(quick).because.endswith(
        "(quick: 60 events where the criterion has 360: not the full proof)"
    )


def test_what_the_sum_of_lags_hides_is_in_the_evidence() -> None:
    found = c2_hot.judge(seen(hot=HOT_CASE)).evidence
    told = {name: found[name] for name in ("sum_before", "sum_while_held", "share_of_worst_partition")}
    assert {"sum_before": 60, "sum_while_held": 36, "share_of_worst_partition": 1.0} == told


def test_who_overtakes_is_the_event_that_came_too_early() -> None:
    order = ["account-0001-002", "account-0002-001", "account-0001-001", "account-0001-003", "account-0002-002"]
    assert ["account-0001-002"] == oracle.overtakers(order)
