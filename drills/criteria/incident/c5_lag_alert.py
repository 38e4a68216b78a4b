"""Criterion 5: lag behind a barrier becomes pending, then firing, and is resolved by the drain."""

from __future__ import annotations

from drills.criteria.findings import Findings
from drills.criteria.incident import alert_path
from drills.criteria.incident.alert_path import FIRING, INACTIVE, PENDING
from drills.criteria.incident.c1_cells import AMOUNT
from drills.model.seen import CaseSeen, Seen
from drills.model.verdict import Judgement

CASE = "lag-alert"
FOR = 10.0  # seconds, the rule's
SLACK = 0.5  # seconds: Prometheus' clock and ours are one, and its word is rounded


def judge(seen: Seen) -> Judgement:
    """200 IDs, the consumer at a barrier: lag > 100 for 10 s; pending, firing, resolved, each with its time."""
    findings = Findings(seen)
    case = findings.case(CASE)
    ids = seen.parameters["ids"]["lag"]
    took = 0.0
    if case is not None:
        findings.confirmed_before(case, ids)
        if _lagged(findings, case, len(ids)):
            path = alert_path.went(findings, CASE, case, [INACTIVE, PENDING, FIRING, INACTIVE])
            took = 0.0 if path is None else alert_path.waited(path)
            if path is not None and took < FOR - SLACK:
                findings.wrong(f"the alert fired after {took:.1f} s, and not after {FOR:.0f}")
        findings.each_once(CASE, case, ids, counter=AMOUNT * len(ids))
        findings.clean(CASE, case)
    return findings.judgement(
        f"a lag of {len(ids)} was pending, fired after {took:.1f} s, and the alert was resolved by the drain"
    )


def _lagged(findings: Findings, case: CaseSeen, count: int) -> bool:
    """By the exporter, the admin API and the log, while the consumer was at the barrier."""
    found = case.facts.get("lag_held")
    findings.note(lag_held=found)
    if found is not None and all(said == {"0": float(count)} for said in found.values()):
        return True
    findings.unknown(f"a lag of {count} was not seen by all witnesses, but {found}")
    return False
