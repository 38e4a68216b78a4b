"""Criterion 7: with one replica in sync and min.insync.replicas=2, acks=all confirms nothing, and the alert fires."""

from __future__ import annotations

from drills.criteria.findings import Findings
from drills.criteria.partition_lag import oracle
from drills.model.seen import CaseSeen, Seen
from drills.model.verdict import Judgement

CASE, FAULTS = "isr-loss", ("stop_node", "kill_node", "pause_node")


def judge(seen: Seen) -> Judgement:
    """I: ISR=1 observed, controllers have their majority: each of 10 B-IDs has its own error, none is acknowledged."""
    findings = Findings(seen)
    case = findings.case(CASE)
    ids = seen.parameters["b_ids"]
    if case is not None and findings.bite(case, FAULTS, times=2) and _was_one(findings, case):
        _quorum(findings, case)
        _refused(findings, case, ids)
        _told(findings, case)
    return findings.judgement(f"none of {len(ids)} B events was confirmed with one in sync; metric and alert showed it")


def _was_one(findings: Findings, case: CaseSeen) -> bool:
    """Before B was sent, and after each had its outcome."""
    told = [oracle.in_sync(case, name) for name in ("isr_one", "isr_one_after")]
    findings.note(in_sync_while_b_was_sent=told)
    if told == [1, 1]:
        return True
    findings.unknown(f"one replica in sync was not seen while B was sent, but {told}")
    return False


def _quorum(findings: Findings, case: CaseSeen) -> None:
    """Without a controller the replicas in sync would not be what the brokers say."""
    found = case.facts.get("quorum_without")
    findings.note(quorum=found)
    if found is None or found["leader"] not in found["voters"]:
        findings.unknown("the controllers were not seen to have a leader while B was sent")


def _refused(findings: Findings, case: CaseSeen, ids: list[str]) -> None:
    told, outcomes = case.facts.get("errors_b"), case.facts.get("outcomes_b")
    findings.note(errors_b=told)
    if told is None or outcomes is None or not set(ids) <= set(told):
        findings.unknown("the outcomes of B are not known for all")
        return
    confirmed = sorted(event for event in ids if "confirmed" in outcomes.get(event, ()))
    if confirmed:
        findings.wrong(f"acknowledged with one in sync: {', '.join(confirmed)}", confirmed)
    silent = sorted(
        event for event in set(ids) - set(confirmed) if not (told[event].get("error") or told[event].get("reason"))
    )
    if silent:
        findings.wrong(f"without an error or timeout of their own: {', '.join(silent)}", silent)


def _told(findings: Findings, case: CaseSeen) -> None:
    metric, alert = case.facts.get("under_min_isr"), case.facts.get("alert")
    findings.note(under_min_isr=metric, alert=alert)
    if metric is None:
        findings.unknown("the exporter did not tell whether the partition is under its least")
    elif metric != 1:
        findings.wrong(f"the exporter does not show the partition under its least: {metric:g}")
    if alert is None:
        findings.unknown("no alert could be seen: the target has no Prometheus, or it was not read")
    elif "firing" not in alert:
        findings.wrong(f"the alert did not fire: {', '.join(alert) or 'inactive'}")
