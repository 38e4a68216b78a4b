"""Criterion 4: what the unique key is for. Without it an event that comes twice counts twice."""

from __future__ import annotations

from drills.criteria.findings import Findings
from drills.model.seen import CaseSeen, Seen
from drills.model.verdict import Judgement

CONTROL, CASE, EVENT = "control-no-inbox", "same-id-twice", "E005"


def judge(seen: Seen) -> Judgement:
    """Two copies of E005: 101 without the key, 100 with it; a third with another payload is set aside, not applied."""
    findings = Findings(seen)
    control, case = findings.case(CONTROL), findings.case(CASE)
    ids = seen.parameters["ids"][CASE]
    if control is not None:
        shows_double(findings, control, len(ids))
    if case is not None:
        findings.each_once(CASE, case, ids)
        findings.clean(CASE, case)
        _set_aside(findings, case)
    return findings.judgement(
        f"two copies of {EVENT} gave {len(ids) + 1} without the unique key and {len(ids)} with it; "
        "another payload under its ID was set aside"
    )


def shows_double(findings: Findings, control: CaseSeen, events: int) -> None:
    """The control shows its wrong result: counter one too high, by exactly this event."""
    found = control.facts.get("checkpoint")
    findings.drained(CONTROL, control)
    if found is None:
        findings.unknown(f"{CONTROL}: the business database was not read")
        return
    findings.note(negative_control={"counter": found["counter"], "effects_of_event": found["effects"].get(EVENT)})
    if (found["counter"], found["effects"].get(EVENT)) != (events + 1, 2):
        findings.wrong(
            f"the negative control without a unique key did not show its wrong result: counter {found['counter']}, "
            f"not {events + 1}",
            [EVENT],
        )


def _set_aside(findings: Findings, case: CaseSeen) -> None:
    found = case.facts.get("checkpoint")
    if found is None:
        return
    aside = [row for row in found["quarantine"] if row["event_id"] == EVENT]
    findings.note(quarantine=found["quarantine"])
    drained = case.reconciliation is not None and case.reconciliation.undrained is None
    if not aside and drained:
        findings.wrong(f"{EVENT} with another payload was not set aside", [EVENT])
    if any(row["payload_hash"] == found["inbox"].get(EVENT) for row in aside):
        findings.wrong(f"the payload of {EVENT} that was applied was set aside, too", [EVENT])
    strangers = {row["event_id"] for row in found["quarantine"]} - {EVENT}
    if strangers:
        findings.wrong(f"set aside without a reason to be: {', '.join(sorted(strangers))}", strangers)
