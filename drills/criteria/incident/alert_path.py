"""Whether an alert went its way: silent before, firing during, silent after."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from drills.criteria.findings import Findings
from drills.model.seen import CaseSeen

INACTIVE, PENDING, FIRING = "inactive", "pending", "firing"


def went(findings: Findings, name: str, case: CaseSeen, wanted: Sequence[str]) -> list[dict[str, Any]] | None:
    """Its states with their times when they are these, in this order; else None, and the criterion can't pass."""
    path = case.facts.get("alert_times")
    findings.note(**{f"{name}_alert": path})
    if path is None:
        findings.unknown(f"{name}: no alert could be seen: the target has no Prometheus, or it was not read")
        return None
    states = [one["state"] for one in path]
    if states == list(wanted):
        return list(path)
    if FIRING not in states:
        findings.wrong(f"{name}: the alert did not fire: {' → '.join(states)}")
    elif states[-1] != INACTIVE:
        findings.wrong(f"{name}: the alert was not resolved: {' → '.join(states)}")
    else:
        findings.unknown(f"{name}: the alert was seen as {' → '.join(states)}, not {' → '.join(wanted)}")
    return None


def waited(path: Sequence[dict[str, Any]]) -> float:
    """Seconds from when the expression was true, as Prometheus says, until it was first seen to fire."""
    [fired] = [one for one in path if one["state"] == FIRING]
    found: float = fired["wall"] - datetime.fromisoformat(fired["active_at"]).timestamp()
    return found
