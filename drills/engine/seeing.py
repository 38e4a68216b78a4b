"""What criteria may look at, built from the ledger alone.

The account of a case is made of the ledger's attempts, deliveries and decisions and of these facts of the case:

    effects       {ID: times the business effect was applied}      without it there is no reconciliation
    quarantined   [IDs], dead_letters [IDs]
    seen_at       {ID: the last place it was seen}
    drain         {"leader", "sentinel", "readings": [{"at", "waiting", "unacked"}]}, from `stage.drained`

IDs that begin with `sentinel-` are kept out of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from drills.engine.drill import PHASES
from drills.ledger import Ledger, tables
from drills.model.drain import Drain, Reading
from drills.model.seen import CaseSeen, Change, Hook, Seen
from drills.reconcile import Account, Reconciliation, reconcile

SENTINEL = "sentinel-"
DECIDED = ("retry", "give_up")


def seen(ledger: Ledger) -> Seen:
    """All that was stored of a run. A case that never began is not in it."""
    facts = ledger.facts()
    finished = finished_cases(ledger)
    names = {row["case"] for row in ledger.rows(tables.timeline) if row["case"] and row["kind"] == "phase"}
    cases = {name: _case(ledger, name, facts.get(name, {}), name in finished) for name in sorted(names)}
    return Seen(ledger.about()["parameters"], cases)


def finished_cases(ledger: Ledger) -> set[str]:
    """The cases whose phases all ran to their end."""
    rows = ledger.rows(tables.timeline)
    return {
        row["case"]
        for row in rows
        if row["kind"] == "phase" and row["data"].get("phase") == PHASES[-1] and row["data"].get("state") == "ended"
    }


def account(ledger: Ledger, case: str, facts: Mapping[str, Any]) -> Account | None:
    """The account of a case; None when its effects were never read."""
    if "effects" not in facts:
        return None
    rows = ledger.rows(tables.deliveries, case)
    return Account(
        attempts=[one for one in ledger.attempts(case) if not one.event_id.startswith(SENTINEL)],
        deliveries=Counter(_real(row["event_id"] for row in rows)),
        effects=Counter({event: times for event, times in facts["effects"].items() if _real([event])}),
        quarantined=frozenset(_real(facts.get("quarantined", ()))),
        dead_letters=frozenset(_real(facts.get("dead_letters", ()))),
        retry_decisions=_decided(ledger, case),
        seen_at=facts.get("seen_at", {}),
        drain=drain(facts.get("drain")),
    )


def _decided(ledger: Ledger, case: str) -> frozenset[str]:
    """The events of which something was decided after their last attempt: the retry itself may be lost again."""
    last: dict[str, float] = {}
    for row in ledger.rows(tables.attempts, case):
        last[row["event_id"]] = max(row["pending"], last.get(row["event_id"], 0.0))
    decisions = [row for row in ledger.rows(tables.decisions, case) if row["decision"] in DECIDED]
    return frozenset(row["event_id"] for row in decisions if row["at"] >= last.get(row["event_id"], 0.0))


def drain(stored: Mapping[str, Any] | None) -> Drain | None:
    """The drain of a case as it was stored; None when none was tried."""
    if stored is None:
        return None
    readings = [Reading(one["at"], one["waiting"], one["unacked"]) for one in stored["readings"]]
    return Drain(stored["leader"], stored["sentinel"], readings)


def reconciliation(ledger: Ledger, case: str, facts: Mapping[str, Any]) -> Reconciliation | None:
    """The reconciliation of a case; None when its effects were never read."""
    found = account(ledger, case, facts)
    return None if found is None else reconcile(found)


def _case(ledger: Ledger, case: str, facts: Mapping[str, Any], finished: bool) -> CaseSeen:
    changes = [
        Change(row["kind"], row["arguments"], row["is_fault"], row["bite"], row["undone"] is not None)
        for row in ledger.rows(tables.changes, case)
    ]
    hooks = [
        Hook(row["worker"], row["hook"], row["event_id"], row["released"] is not None)
        for row in ledger.rows(tables.hooks, case)
    ]
    return CaseSeen(finished, facts, changes, hooks, reconciliation(ledger, case, facts))


def _real(events: Iterable[str]) -> list[str]:
    return [event for event in events if not event.startswith(SENTINEL)]
