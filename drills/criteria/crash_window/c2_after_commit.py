"""Criterion 2: killed between commit and ack, the event comes again and is not applied again."""

from __future__ import annotations

from drills.criteria.findings import Findings
from drills.criteria.redelivery import came_again
from drills.model.seen import CaseSeen, Seen
from drills.model.verdict import Judgement

CASE, HOOK, EVENT = "after-commit", "AFTER_DB_COMMIT_BEFORE_ACK", "E050"


def judge(seen: Seen) -> Judgement:
    """E050 held after the commit: effect seen, unacked, SIGKILL, redelivered; counter 100, one inbox row."""
    findings = Findings(seen)
    case = findings.case(CASE)
    ids = seen.parameters["ids"][CASE]
    if case is not None:
        if findings.held(case, HOOK, EVENT) and findings.bite(case, ["kill_worker"]):
            _at_hook(findings, case)
            came_again(findings, case, EVENT)
        findings.each_once(CASE, case, ids)
        findings.clean(CASE, case)
    return findings.judgement(f"{EVENT} was committed, unacked, killed and redelivered; the counter is {len(ids)}")


def _at_hook(findings: Findings, case: CaseSeen) -> None:
    committed, queue = case.facts.get("at_hook"), case.facts.get("queue_at_hook")
    findings.note(at_hook=queue)
    if committed is None or queue is None or queue["unacked"] is None:
        findings.unknown("effect or unacked count at the hook were not read")
        return
    if committed["effects"].get(EVENT) != 1 or EVENT not in committed["inbox"]:
        findings.wrong(f"at the hook another connection did not see the effect of {EVENT} with its marker", [EVENT])
    if queue["unacked"] != 1:
        findings.wrong(f"at the hook the broker had {queue['unacked']} unacked, not 1: {EVENT} was acked", [EVENT])
