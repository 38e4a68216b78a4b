"""Criterion 6: a publisher killed between confirm and ledger does not know, and finds out by sending the ID again."""

from __future__ import annotations

from drills.criteria.findings import Findings
from drills.model.seen import CaseSeen, Seen
from drills.model.verdict import Judgement

CASE, HOOK, EVENT = "publisher-crash", "AFTER_CONFIRM_BEFORE_LEDGER", "U001"
OPEN, SENT_AGAIN = ["pending"], ["pending", "confirmed"]


def judge(seen: Seen) -> Judgement:
    """U001 confirmed, held, SIGKILL: the ledger says PENDING; sent again under its ID; one effect; recovered."""
    findings = Findings(seen)
    case = findings.case(CASE)
    if case is not None:
        if findings.held(case, HOOK, EVENT) and findings.bite(case, ["kill_worker"]):
            _crashed(findings, case)
        _sent_again(findings, case)
        findings.each_once(CASE, case, [EVENT])
        findings.clean(CASE, case)
    return findings.judgement(
        f"{EVENT} was unknown after the crash, sent again under its ID, and applied once: recovered"
    )


def _crashed(findings: Findings, case: CaseSeen) -> None:
    queue = case.facts.get("queue_at_hook")
    findings.note(queue_at_hook=queue)
    if queue is None or queue["messages"] != 1:
        findings.unknown(f"the broker was not seen to hold {EVENT} while the publisher was held")
    for moment in ("ledger_at_hook", "ledger_after_kill"):
        told = case.facts.get(moment)
        if told is None:
            findings.unknown(f"{moment} was not read")
        elif told.get(EVENT) != OPEN:
            findings.wrong(f"{moment}: {EVENT} is {told.get(EVENT)}, not PENDING", [EVENT])


def _sent_again(findings: Findings, case: CaseSeen) -> None:
    outcomes = case.facts.get("outcomes", {}).get(EVENT)
    findings.note(outcomes=outcomes)
    if outcomes is None or len(outcomes) < len(SENT_AGAIN) or outcomes[:1] != OPEN:
        findings.wrong(f"{EVENT} was not sent again as an unknown one: its attempts are {outcomes}", [EVENT])
    elif outcomes != SENT_AGAIN:
        findings.unknown(f"{EVENT} was sent again, and its attempts are {outcomes}")
    if case.reconciliation is not None and case.reconciliation.recovered != (EVENT,):
        recovered = ", ".join(case.reconciliation.recovered) or "nothing"
        findings.wrong(f"recovered is {recovered}, not {EVENT}", [EVENT])
