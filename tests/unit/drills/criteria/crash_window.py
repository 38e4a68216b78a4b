"""Runs of crash-window as they are stored, small ones, for the examples of its criteria: five events, two new ones."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from drills.model.drain import Drain, Reading
from drills.model.publish import Attempt, Outcome
from drills.model.seen import CaseSeen, Change, Hook, Seen
from drills.reconcile import Account, reconcile

IDS = ["E001", "E005", "E025", "E050", "E002"]
NEW = ["E101", "E102"]
NAMES = ("baseline", "after-commit", "before-commit", "control-no-inbox", "same-id-twice")
NAMES += ("control-early-ack", "crash-at-first", "leader-loss", "majority-loss")
PARAMETERS = {
    "events": 5, "full_events": 5, "new_ids": NEW, "ids": {**dict.fromkeys(NAMES, IDS), "publisher-crash": ["U001"]},
}  # fmt: skip
PROVEN = Drain("n1", "sentinel-1", (Reading(0.0, 0, 0), Reading(6.0, 0, 0)))
UNPROVEN = Drain("n1", None, (Reading(0.0, 0, 0), Reading(6.0, 0, 0)))


def checkpoint(effects: Mapping[str, int], *, inbox: Sequence[str] | None = None, aside: Sequence[str] = ()) -> Any:
    """The business database with these effects; the inbox has the same IDs unless it is given."""
    quarantine = [{"event_id": one, "reason": "r", "payload_hash": "other", "place": "work"} for one in aside]
    marked = dict.fromkeys(effects if inbox is None else inbox, "hash")
    return {"inbox": marked, "counter": sum(effects.values()), "effects": dict(effects), "quarantine": quarantine}


def queue(**values: Any) -> dict[str, Any]:
    """A queue's reading: three members online, led by n1, empty."""
    members = ["n1", "n2", "n3"]
    counts = {"messages": 0, "ready": 0, "unacked": 0, "consumers": 0}
    return {"at": 0.0, "leader": "n1", "members": members, "online": members, **counts, **values}


def case(
    facts: Mapping[str, Any],
    *,
    outcomes: Mapping[str, Sequence[str]] | None = None,
    drain: Drain = PROVEN,
    changes: Sequence[Change] = (),
    hooks: Sequence[Hook] = (),
) -> CaseSeen:
    """A case that ran to its end; its reconciliation is what its own outcomes, effects and drain give."""
    told = {event: ["confirmed"] for event in IDS} if outcomes is None else outcomes
    attempts = [Attempt(event, n, Outcome(one)) for event, each in told.items() for n, one in enumerate(each, 1)]
    found = facts["checkpoint"]
    aside = frozenset(row["event_id"] for row in found["quarantine"])
    account = Account(attempts, Counter(), Counter(found["effects"]), quarantined=aside, drain=drain)
    return CaseSeen(True, {"outcomes": told, **facts}, changes, hooks, reconcile(account))


def once(ids: Sequence[str] = IDS) -> dict[str, int]:
    """One effect of each."""
    return dict.fromkeys(ids, 1)


def fault(kind: str, bite: Any = "gone") -> Change:
    """A fault with its proof, or without."""
    return Change(kind, {}, True, bite, True)


def hook(name: str, event: str, worker: str = "first") -> Hook:
    """A worker that was killed at a hook."""
    return Hook(worker, name, event, False)


def again(event_worker: str = "second", *, redelivered: bool = True) -> list[dict[str, Any]]:
    """Handed to the first worker, then to the second."""
    return [{"worker": "first", "redelivered": False}, {"worker": event_worker, "redelivered": redelivered}]


def seen(**cases: CaseSeen) -> Seen:
    """A run of these cases; underscores in names stand for dashes."""
    return Seen(PARAMETERS, {name.replace("_", "-"): one for name, one in cases.items()})


def but(one: CaseSeen, **facts: Any) -> CaseSeen:
    """The same case with other facts; None takes a fact away."""
    changed = {name: value for name, value in {**one.facts, **facts}.items() if value is not None}
    return dataclasses.replace(one, facts=changed)


def with_drain(one: CaseSeen) -> CaseSeen:
    """The same case with a drain that is not proven."""
    assert one.reconciliation is not None
    return dataclasses.replace(one, reconciliation=dataclasses.replace(one.reconciliation, undrained=UNPROVEN.lack()))


def without_bite(one: CaseSeen) -> CaseSeen:
    """The same case with a first fault that is not proven."""
    return dataclasses.replace(one, changes=[dataclasses.replace(one.changes[0], bite=None), *one.changes[1:]])
