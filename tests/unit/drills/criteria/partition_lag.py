"""Runs of partition-lag as they are stored, quick ones, for the examples of its criteria."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from drills.catalog.partition_lag import parameters
from drills.model.seen import CaseSeen, Change, Seen
from tests.unit.drills.criteria import crash_window
from tests.unit.drills.criteria.crash_window import checkpoint, fault, once

QUICK = parameters(True)
PARAMETERS = {**QUICK, "full_events": QUICK["events"]}
OLD: list[str] = QUICK["ids"]["balanced"]
HOT: list[str] = QUICK["ids"]["hot"]
NEW: list[str] = QUICK["new_ids"]
A, B = QUICK["a_ids"], QUICK["b_ids"]
PLACE = {"account-0001": 1, "account-0002": 2, "account-0003": 0, "account-0004": 1, "account-0005": 2}
PLACE |= {"account-0006": 0, "account-0007": 1, "account-0008": 2, "account-0009": 0, "account-0010": 1}
PLACE |= {"account-0011": 2, "account-0012": 0}  # written out: what the modulo of three must give
MOVED = ["account-0003", "account-0004", "account-0005", "account-0009", "account-0010", "account-0011"]
"""The accounts that are elsewhere with six partitions: three further on."""
RAISE = fault("partitions", {"partitions": 6})
STOP = fault("stop_node")


def confirmed(ids: Iterable[str]) -> dict[str, list[str]]:
    """Each with one confirmed attempt."""
    return {event: ["confirmed"] for event in ids}


def reports(old: Sequence[str], new: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Delivery reports as they must be: `old` with three partitions, then `new` with six."""
    found: list[dict[str, Any]] = []
    ends: dict[int, int] = {}
    for event in [*old, *new]:
        account = event[:12]
        place = PLACE[account] + (3 if event in new and account in MOVED else 0)
        offset = ends.get(place, 0)
        ends[place] = offset + 1
        found.append({"event_id": event, "key": account, "partition": place, "offset": offset})
    return found


def lag(first: float | None, second: float | None = 0, third: float | None = 0) -> dict[str, Any]:
    """The same from all three witnesses."""
    told = {"0": first, "1": second, "2": third}
    return {who: dict(told) for who in ("exporter", "admin", "log")}


def offsets(committed: int, end: int, start: int = 0) -> dict[str, Any]:
    """The same on three partitions."""
    three = ("0", "1", "2")
    told = {"committed": committed, "start": start, "end": end, "lag": end - committed}
    return {"at": 0.0, **{name: dict.fromkeys(three, value) for name, value in told.items()}}


def replicas(*in_sync: int) -> list[dict[str, Any]]:
    """One partition with these brokers in sync."""
    return [{"number": 0, "leader": 1, "replicas": [1, 2, 3], "in_sync": list(in_sync)}]


def group(size: int, **values: Any) -> dict[str, Any]:
    """A stable group of so many on three partitions."""
    members = [
        {"client": f"c{number}", "partitions": [0, 1, 2] if size == 1 else [number] if number < 3 else []}
        for number in range(size)
    ]
    idle = max(0, size - 3)
    told = {"members": float(size), "idle": float(idle)}
    return {"state": "Stable", "strategy": "range", "members": members, "idle": idle, "exporter": told, **values}


def case(
    facts: Mapping[str, Any],
    ids: Sequence[str],
    *,
    outcomes: Mapping[str, Sequence[str]] | None = None,
    changes: Sequence[Change] = (),
    effects: Mapping[str, int] | None = None,
) -> CaseSeen:
    """A case that ran to its end, with each of these events applied once unless `effects` says otherwise."""
    found = {"checkpoint": checkpoint(once(ids) if effects is None else effects), **facts}
    return crash_window.case(found, outcomes=confirmed(ids) if outcomes is None else outcomes, changes=changes)


def seen(**cases: CaseSeen) -> Seen:
    """A run of these cases; underscores in names stand for dashes."""
    return Seen(PARAMETERS, {name.replace("_", "-"): one for name, one in cases.items()})
