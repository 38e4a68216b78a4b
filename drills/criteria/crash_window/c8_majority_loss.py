"""Criterion 8: without a majority nothing is called confirmed, and afterwards everything is there once."""

from __future__ import annotations

from drills.criteria.findings import Findings
from drills.model.seen import CaseSeen, Seen
from drills.model.verdict import Judgement

CASE = "majority-loss"
FAULTS = ("stop_node", "kill_node")
DEFINITE = {"confirmed", "returned"}


def judge(seen: Seen) -> Judgement:
    """Two replicas down by the broker's word, 10 new IDs: none confirmed; retried afterwards; 110 effects, one each."""
    findings = Findings(seen)
    case = findings.case(CASE)
    old, new = seen.parameters["ids"][CASE], seen.parameters["new_ids"]
    if case is not None:
        findings.confirmed_before(case, old)
        if findings.bite(case, FAULTS, times=2) and _was_minority(findings, case):
            _none_confirmed(findings, case, new)
        _decided(findings, case, new)
        findings.each_once(CASE, case, [*old, *new])
        findings.clean(CASE, case)
    return findings.judgement(
        f"none of {len(new)} IDs was confirmed without a majority; all {len(old) + len(new)} were applied once"
    )


def _was_minority(findings: Findings, case: CaseSeen) -> bool:
    """The broker's own word, before the ten were sent and after they had their outcomes."""
    told = [case.facts.get(name) for name in ("minority_before", "minority_after")]
    findings.note(minority=told, quorum_status=case.facts.get("quorum_status"))
    if all(one is not None and len(one["members"]) == 3 and len(one["online"]) == 1 for one in told):
        return True
    findings.unknown("the broker was not seen to have one of three replicas while the new IDs were sent")
    return False


def _none_confirmed(findings: Findings, case: CaseSeen, new: list[str]) -> None:
    outcomes = case.facts.get("outcomes_without_majority")
    findings.note(outcomes_without_majority=outcomes)
    if outcomes is None or not set(new) <= set(outcomes):
        findings.unknown("the outcomes without a majority are not known for all new IDs")
        return
    told = sorted(event for event in new if DEFINITE & set(outcomes[event]))
    if told:
        findings.wrong(f"called confirmed without a majority: {', '.join(told)}", told)


def _decided(findings: Findings, case: CaseSeen, new: list[str]) -> None:
    """Each is confirmed in the end: by a late confirm, or by being sent again."""
    retried, outcomes = case.facts.get("retried"), case.facts.get("outcomes", {})
    findings.note(retried=retried)
    open_ones = [event for event in new if "confirmed" not in outcomes.get(event, [])]
    forgotten = sorted(event for event in open_ones if len(outcomes.get(event, [])) < 2)
    if forgotten:
        findings.wrong(f"neither confirmed late nor sent again: {', '.join(forgotten)}", forgotten)
    elif open_ones:
        findings.unknown(f"sent again, and still not known to be confirmed: {', '.join(sorted(open_ones))}")
    if not retried:
        findings.unknown("no ID had to be sent again")
