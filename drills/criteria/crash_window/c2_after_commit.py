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
            _at_hook(findings, case, len(ids))
            came_again(findings, case, EVENT)
        findings.each_once(CASE, case, ids)
        findings.clean(CASE, case)
    return findings.judgement(f"{EVENT} was committed, unacked, killed and redelivered; the counter is {len(ids)}")


def _at_hook(findings: Findings, case: CaseSeen, events: int) -> None:
    """Committed, and one message unacked that must be this one: all that are acked are others that are committed."""
    committed, queue = case.facts.get("at_hook"), case.facts.get("queue_at_hook")
    findings.note(queue_at_hook=queue)
    if committed is None or queue is None or None in (queue["messages"], queue["unacked"]):
        findings.unknown("effect or unacked count at the hook were not read")
        return
    if committed["effects"].get(EVENT) != 1 or EVENT not in committed["inbox"]:
        findings.wrong(f"at the hook another connection did not see the effect of {EVENT} with its marker", [EVENT])
        return
    acked, others = events - queue["messages"], len(committed["effects"]) - 1
    if acked > others:
        findings.wrong(f"at the hook {acked} were acked while {others} others were committed: {EVENT} was", [EVENT])
    elif acked < others or queue["unacked"] != 1:
        findings.unknown(f"at the hook the broker showed {queue['unacked']} unacked and {acked} of {others} acked")
