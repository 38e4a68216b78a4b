"""Whether an event that a killed consumer held was handed out again, and marked so."""

from __future__ import annotations

from drills.criteria.findings import Findings
from drills.model.seen import CaseSeen


def came_again(findings: Findings, case: CaseSeen, event_id: str) -> None:
    """First to the consumer that was killed, then to another one with `redelivered` set; fact `deliveries`."""
    rows = case.facts.get("deliveries")
    findings.note(deliveries=rows)
    if rows is None:
        findings.unknown(f"to whom {event_id} was handed is not known")
        return
    killed = {hook.worker for hook in case.hooks if hook.event_id == event_id}
    again = [row for row in rows if row["worker"] not in killed]
    if not again:
        findings.wrong(f"{event_id} was not handed out again after the kill", [event_id])
    elif not again[0]["redelivered"]:
        findings.wrong(f"{event_id} was handed out again without `redelivered`", [event_id])
