"""Criterion 8: with all replicas back, what was unknown is sent again by ID, and everything is there once."""

from __future__ import annotations

from drills.criteria.findings import Findings
from drills.criteria.partition_lag import oracle
from drills.model.seen import CaseSeen, Seen
from drills.model.verdict import Judgement

CASE = "isr-loss"


def judge(seen: Seen) -> Judgement:
    """Followers back, ISR=3: B retried by ID and reconciled; A and B each exactly once in effect."""
    findings = Findings(seen)
    case = findings.case(CASE)
    a_ids, b_ids = seen.parameters["a_ids"], seen.parameters["b_ids"]
    if case is not None:
        findings.bite(case, ("stop_node", "kill_node", "pause_node"), times=2)
        back = oracle.in_sync(case, "isr_back")
        findings.note(in_sync_when_b_was_sent_again=back)
        if back != 3:
            findings.unknown(f"three in sync were not seen before B was sent again, but {back}")
        _sent_again(findings, case, b_ids)
        findings.each_once(CASE, case, [*a_ids, *b_ids])
        findings.clean(CASE, case)
    return findings.judgement(
        f"{len(b_ids)} B events were sent again by ID; {len(a_ids) + len(b_ids)} effects, once each"
    )


def _sent_again(findings: Findings, case: CaseSeen, ids: list[str]) -> None:
    retried, outcomes = case.facts.get("retried"), case.facts.get("outcomes", {})
    findings.note(retried=retried)
    if not retried:
        findings.unknown("no event had to be sent again")
    open_ones = [event for event in ids if "confirmed" not in outcomes.get(event, ())]
    forgotten = sorted(event for event in open_ones if len(outcomes.get(event, ())) < 2)
    if forgotten:
        findings.wrong(f"neither confirmed nor sent again: {', '.join(forgotten)}", forgotten)
    elif open_ones:
        findings.unknown(f"sent again, and still not known to be confirmed: {', '.join(sorted(open_ones))}")
