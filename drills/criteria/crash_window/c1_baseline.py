"""Criterion 1: what was confirmed before the consumer began is what was done afterwards, by ID."""

from __future__ import annotations

from drills.criteria.findings import Findings
from drills.model.seen import CaseSeen, Seen
from drills.model.verdict import Judgement

CASE = "baseline"


def judge(seen: Seen) -> Judgement:
    """100 confirms and a depth of 100 before the consumer; then inbox IDs E001..E100 and counter 100."""
    findings = Findings(seen)
    case = findings.case(CASE)
    ids = seen.parameters["ids"][CASE]
    if case is not None:
        _before(findings, case, ids)
        findings.each_once(CASE, case, ids)
        findings.clean(CASE, case)
    return findings.judgement(f"{len(ids)} of {len(ids)} IDs were confirmed and queued, then applied once each")


def _before(findings: Findings, case: CaseSeen, ids: list[str]) -> None:
    findings.confirmed_before(case, ids)
    queue = case.facts.get("queue_before")
    findings.note(queue_before=queue, witnesses=case.facts.get("witnesses_before"))
    if queue is None or queue["ready"] is None or queue["consumers"] is None:
        findings.unknown("the depth before the consumer began is not known")
    elif (queue["ready"], queue["unacked"], queue["consumers"]) != (len(ids), 0, 0):
        found = f"{queue['ready']} ready, {queue['unacked']} unacked, {queue['consumers']} consumers"
        findings.wrong(f"before the consumer began the queue had {found}; {len(ids)} ready were expected")
    both = case.facts.get("witnesses_before")
    for text in [] if both is None else both["disagreements"]:
        findings.unknown(f"the witnesses disagree on {text}")
