"""Criterion 6: with two of three replicas in sync, acks=all is answered."""

from __future__ import annotations

from drills.criteria.findings import Findings
from drills.criteria.partition_lag import oracle
from drills.model.seen import CaseSeen, Seen
from drills.model.verdict import Judgement

CASE, FAULTS = "isr-loss", ("stop_node", "kill_node", "pause_node")


def judge(seen: Seen) -> Judgement:
    """I: one follower stopped, ISR=2 observed: 10 A-IDs succeed with acks=all."""
    findings = Findings(seen)
    case = findings.case(CASE)
    ids = seen.parameters["a_ids"]
    if case is not None:
        before, two = oracle.in_sync(case, "isr_before"), oracle.in_sync(case, "isr_two")
        findings.note(in_sync={"before": before, "when_a_was_sent": two})
        if (before, two) != (3, 2):
            findings.unknown(f"three in sync before and two when A was sent were not seen, but {before} and {two}")
        elif findings.bite(case, FAULTS):
            _confirmed(findings, case, ids)
    return findings.judgement(f"{len(ids)} A events were confirmed with two of three replicas in sync")


def _confirmed(findings: Findings, case: CaseSeen, ids: list[str]) -> None:
    outcomes = case.facts.get("outcomes_a")
    findings.note(outcomes_a=outcomes)
    if outcomes is None:
        findings.unknown("the outcomes of A are not known")
        return
    not_confirmed = sorted(event for event in ids if outcomes.get(event) != ["confirmed"])
    if not_confirmed:
        findings.wrong(f"not confirmed with two in sync: {', '.join(not_confirmed)}", not_confirmed)
