"""Criterion 3: killed before the commit, nothing is left of it, and afterwards it is done once."""

from __future__ import annotations

from drills.criteria.findings import Findings
from drills.criteria.redelivery import came_again
from drills.model.seen import CaseSeen, Seen
from drills.model.verdict import Judgement

CASE, HOOK, EVENT = "before-commit", "BEFORE_DB_COMMIT", "E025"


def judge(seen: Seen) -> Judgement:
    """E025 held before the commit: SIGKILL; another connection sees the rollback before recovery; then one effect."""
    findings = Findings(seen)
    case = findings.case(CASE)
    ids = seen.parameters["ids"][CASE]
    if case is not None:
        if findings.held(case, HOOK, EVENT) and findings.bite(case, ["kill_worker"]):
            for moment in ("at_hook", "after_kill"):
                _nothing(findings, case, moment)
            came_again(findings, case, EVENT)
        findings.each_once(CASE, case, ids)
        findings.clean(CASE, case)
    return findings.judgement(f"nothing of {EVENT} was left by the kill; afterwards it was applied once")


def _nothing(findings: Findings, case: CaseSeen, moment: str) -> None:
    """No effect, marker or count of the event, all read before a new consumer began."""
    found = case.facts.get(moment)
    if found is None or found["counter"] is None:
        findings.unknown(f"{moment}: the business database was not read")
        return
    findings.note(**{moment: {"counter": found["counter"], "effects": len(found["effects"])}})
    if EVENT in found["effects"] or EVENT in found["inbox"]:
        findings.wrong(f"{moment}: another connection sees {EVENT}, which was not to be committed yet", [EVENT])
    if found["counter"] != len(found["effects"]):
        findings.wrong(f"{moment}: the counter is {found['counter']} with {len(found['effects'])} effects", [EVENT])
