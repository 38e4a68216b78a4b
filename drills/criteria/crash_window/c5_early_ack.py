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
    found, queue = control.facts.get("checkpoint"), control.facts.get("queue_at_hook")
    result = control.reconciliation
    findings.drained(CONTROL, control)
    if found is None or result is None or queue is None or queue["unacked"] is None:
        findings.unknown(f"{CONTROL}: counter, reconciliation or unacked count are missing")
        return
    findings.note(
        negative_control={"counter": found["counter"], "lost": list(result.lost), "unacked_at_hook": queue["unacked"]}
    )
    shown = found["counter"] == events - 1 and result.lost == (EVENT,) and queue["unacked"] == 0
    if result.undrained is None and not shown:
        findings.wrong(
            f"the negative control with an early ack did not show its wrong result: counter {found['counter']}, "
            f"not {events - 1}; lost: {', '.join(result.lost) or 'nothing'}; unacked at the hook: {queue['unacked']}",
            [EVENT],
        )
