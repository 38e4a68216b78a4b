"""Criterion 2: an upgrade one by one, consumers first, sets nothing aside and never stands still."""

from __future__ import annotations

from typing import Any

from drills.criteria.findings import Findings
from drills.criteria.incident.c1_cells import AMOUNT, none_aside
from drills.model.seen import CaseSeen, Seen
from drills.model.verdict import Judgement

CASE = "rolling-upgrade"
EXPECTED = [("1", "1 1"), ("1", "1 2"), ("1", "2 2"), ("2", "2 2")]
"""Versions that run at each step: of the producer, of the consumers."""


def judge(seen: Seen) -> Judgement:
    """Running versions and progress at each step; nothing is quarantined."""
    findings = Findings(seen, scaled=False)
    case = findings.case(CASE)
    ids = seen.parameters["ids"]["upgrade"]
    if case is not None:
        _steps(findings, case)
        none_aside(findings, CASE, case)
        findings.each_once(CASE, case, ids, counter=AMOUNT * len(ids))
        findings.clean(CASE, case)
    return findings.judgement(
        "versions 1 and 2 ran side by side, consumers first: every step went on, nothing set aside"
    )


def _steps(findings: Findings, case: CaseSeen) -> None:
    steps = case.facts.get("steps")
    findings.note(steps=steps)
    if steps is None or len(steps) < len(EXPECTED):
        findings.unknown(f"{len(steps or ())} of {len(EXPECTED)} steps of the upgrade are known")
        return
    found = [(versions(step, "producer"), versions(step, "consumer")) for step in steps]
    early = [step["step"] for step, (producer, consumers) in zip(steps, found, strict=True)
             if producer == "2" and "1" in consumers]  # fmt: skip
    if early:
        findings.wrong(f"the producer was upgraded before the consumers: {', '.join(early)}")
    elif found != EXPECTED:
        findings.wrong(f"the versions that ran were {found}, not {EXPECTED}")
    sent = 0
    for step in steps:
        sent += step["sent"]
        _progress(findings, step, sent)


def _progress(findings: Findings, step: dict[str, Any], sent: int) -> None:
    if step["effects"] < sent:
        findings.wrong(f"{step['step']}: {step['effects']} of {sent} events were applied before the next step")
    if step["quarantined"]:
        findings.wrong(f"{step['step']}: {step['quarantined']} set aside")
    consumers = {f"{CASE}.{name}" for name in step["running"] if name.startswith("consumer")}
    if set(step["members"]) != consumers:
        findings.unknown(f"{step['step']}: the group had {step['members']}, not {sorted(consumers)}")


def versions(step: dict[str, Any], role: str) -> str:
    """The versions of those in a role, sorted, such as "1 2"."""
    return " ".join(str(one) for one in sorted(v for name, v in step["running"].items() if name.startswith(role)))
