"""Criterion 5: partitions raised after the producer stopped and everything was drained: no account overtakes itself."""

from __future__ import annotations

from drills.criteria.findings import Findings
from drills.criteria.partition_lag import oracle
from drills.model.seen import CaseSeen, Seen
from drills.model.verdict import Judgement

CASE = "raise-drained"


def judge(seen: Seen) -> Judgement:
    """X safe: 360 effects and checkpoints, then the raise, then 12: in order, 372 effects; no way back."""
    findings = Findings(seen)
    case = findings.case(CASE)
    old, new = seen.parameters["ids"]["balanced"], seen.parameters["new_ids"]
    if case is not None:
        _drained_before(findings, case, old)
        if findings.bite(case, ["partitions"]):
            if case.facts.get("producer_metadata") != 6:
                findings.unknown("the producer was not seen to know six partitions")
            oracle.records(findings, case, {**dict.fromkeys(old, 3), **dict.fromkeys(new, 6)})
        _in_order(findings, case)
        _no_way_back(findings, case)
        findings.each_once(CASE, case, [*old, *new])
        findings.clean(CASE, case)
    return findings.judgement(f"{len(old)} were drained before the raise; {len(old) + len(new)} effects, each in order")


def _drained_before(findings: Findings, case: CaseSeen, old: list[str]) -> None:
    offsets, found, ended = (
        case.facts.get(name) for name in ("offsets_before_raise", "before_raise", "producer_stopped")
    )
    findings.note(offsets_before_raise=offsets, effects_before_raise=None if found is None else len(found["effects"]))
    if offsets is None or found is None or ended is None or None in offsets["lag"].values():
        findings.unknown("producer, offsets or effects before the raise are not known")
        return
    if not ended["gone"]:
        findings.unknown("the producer was not seen to have ended before the raise")
    left = {number: lag for number, lag in offsets["lag"].items() if lag}
    absent = sorted(set(old) - set(found["effects"]))
    if left or absent:
        findings.wrong(f"partitions were raised with lag {left} and {len(absent)} old effects missing", absent)


def _in_order(findings: Findings, case: CaseSeen) -> None:
    order = case.facts.get("order")
    if order is None:
        findings.unknown("the order of the effects was not read")
        return
    found = oracle.overtakers(order)
    if found:
        findings.wrong(f"applied before older ones of their account: {', '.join(found)}", found)


def _no_way_back(findings: Findings, case: CaseSeen) -> None:
    """The brokers refuse fewer partitions, and there are as many as before."""
    refusal, after = case.facts.get("refusal"), case.facts.get("partitions_after_refusal")
    findings.note(refusal=refusal)
    if refusal is None or after is None:
        findings.unknown("whether the brokers take partitions away was not asked")
    elif refusal["said"] is None or len(after) != 6:
        findings.wrong(f"the brokers were to refuse fewer partitions: {refusal['said']}, {len(after)} are left")
