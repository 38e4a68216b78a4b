"""Criterion 6: the disk alarm is seen, stops publishers, fires, and all three end with it."""

from __future__ import annotations

from drills.criteria.findings import Findings
from drills.criteria.incident import alert_path
from drills.criteria.incident.alert_path import FIRING, INACTIVE
from drills.criteria.incident.c1_cells import AMOUNT
from drills.model.seen import CaseSeen, Seen
from drills.model.verdict import Judgement

CASE = "disk-alarm"


def judge(seen: Seen) -> Judgement:
    """Alarm read from node and exporter, a probe blocked, the alert fires; then the probe passes, all is clear."""
    findings = Findings(seen, scaled=False)
    case = findings.case(CASE)
    ids, probes = seen.parameters["ids"][CASE], seen.parameters["probe_ids"]
    if case is not None:
        findings.confirmed_before(case, ids[: -len(probes)])
        if findings.bite(case, ["disk_limit"]):
            _alarm(findings, case)
            _blocked(findings, case, probes[0])
            alert_path.went(findings, CASE, case, [INACTIVE, FIRING, INACTIVE])
        _over(findings, case, probes)
        findings.each_once(CASE, case, ids, counter=AMOUNT * len(ids))
        findings.clean(CASE, case)
    return findings.judgement("the alarm was on node, page and alert, a publisher was blocked; then all was as before")


def _alarm(findings: Findings, case: CaseSeen) -> None:
    node, before, on = (case.facts.get(name) for name in ("node", "alarms_before", "alarms_on"))
    findings.note(node=node, alarms_before=before, alarms_on=on)
    if before is None or on is None:
        findings.unknown("the exporter's page was not read before and during the alarm")
    elif any(before.values()):
        findings.unknown(f"an alarm was on before the limit was raised: {before}")
    elif on.get(node) != 1:
        findings.wrong(f"the exporter does not show the alarm of {node}: {on}")


def _blocked(findings: Findings, case: CaseSeen, probe: str) -> None:
    outcomes, said = case.facts.get("outcomes_blocked"), case.facts.get("blocked")
    findings.note(blocked=said, outcomes_blocked=outcomes)
    told = (outcomes or {}).get(probe)
    if not told:
        findings.unknown(f"what became of {probe} during the alarm is not known")
    elif "confirmed" in told:
        findings.wrong(f"{probe} was confirmed while the alarm was on", [probe])
    elif said is None:
        findings.unknown(f"{probe} had no answer, and the broker did not say that it blocks")


def _over(findings: Findings, case: CaseSeen, probes: list[str]) -> None:
    after, outcomes = case.facts.get("alarms_after"), case.facts.get("outcomes", {})
    findings.note(alarms_after=after, outcomes=outcomes)
    limits = [change for change in case.changes if change.kind == "disk_limit"]
    if any(not change.undone for change in limits):
        findings.wrong("the free-disk limit was not put back")
    if after is None:
        findings.unknown("the exporter's page was not read after the alarm")
    elif any(after.values()):
        findings.wrong(f"an alarm is still on: {after}")
    waiting = [event for event in probes if "confirmed" not in outcomes.get(event, [])]
    if waiting:
        findings.wrong(f"not confirmed after the alarm: {', '.join(waiting)}", waiting)
