"""Criterion 5: an ack before the commit loses what the crash takes; after the commit nothing is lost."""

from __future__ import annotations

from drills.criteria.findings import Findings
from drills.criteria.redelivery import came_again
from drills.model.seen import CaseSeen, Seen
from drills.model.verdict import Judgement

CONTROL, CASE, HOOK, EVENT = "control-early-ack", "crash-at-first", "BEFORE_DB_COMMIT", "E001"


def judge(seen: Seen) -> Judgement:
    """E001 acked before the commit, then a crash: 99; the same crash with the right design: 100."""
    findings = Findings(seen)
    control, case = findings.case(CONTROL), findings.case(CASE)
    ids = seen.parameters["ids"][CASE]
    if control is not None and _crashed(findings, control):
        _shows_loss(findings, control, len(ids))
    if case is not None:
        if _crashed(findings, case):
            came_again(findings, case, EVENT)
        findings.each_once(CASE, case, ids)
        findings.clean(CASE, case)
    return findings.judgement(
        f"{EVENT} acked before its commit was lost in the crash ({len(ids) - 1}); acked after it, not ({len(ids)})"
    )


def _crashed(findings: Findings, case: CaseSeen) -> bool:
    return findings.held(case, HOOK, EVENT) and findings.bite(case, ["kill_worker"])


def _shows_loss(findings: Findings, control: CaseSeen, events: int) -> None:
    """The control shows its wrong result: acked at the hook, and after a proven drain lost, this event and no other."""
    found, result = control.facts.get("checkpoint"), control.reconciliation
    committed, queue = control.facts.get("at_hook"), control.facts.get("queue_at_hook")
    findings.drained(CONTROL, control)
    if found is None or result is None or committed is None or queue is None or queue["messages"] is None:
        findings.unknown(f"{CONTROL}: counter, reconciliation or the queue at the hook are missing")
        return
    acked = events - queue["messages"] - len(committed["effects"])  # beyond those that are committed
    told = {"counter": found["counter"], "lost": list(result.lost), "acked_and_not_committed_at_hook": acked}
    findings.note(negative_control=told)
    if result.undrained is None and (found["counter"], result.lost, acked) != (events - 1, (EVENT,), 1):
        findings.wrong(
            f"the negative control with an early ack did not show its wrong result: counter {found['counter']} "
            f"({events - 1} expected), lost: {', '.join(result.lost) or 'nothing'}, acked before the commit: {acked}",
            [EVENT],
        )
