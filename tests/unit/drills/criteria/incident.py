"""Runs of incident as they are stored, quick ones, for the examples of its criteria."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from drills.catalog.incident import parameters
from drills.model.seen import CaseSeen, Change, Hook, Seen
from tests.unit.drills.criteria import crash_window
from tests.unit.drills.criteria.crash_window import fault, once
from tests.unit.drills.criteria.partition_lag import confirmed

QUICK = parameters(True)
PARAMETERS = {**QUICK, "full_events": QUICK["events"]}
IDS: dict[str, list[str]] = QUICK["ids"]
POISONS = ["poison-0001-001", "poison-0002-001", "poison-0003-001"]
CLASSES = ["malformed", "invalid", "unsupported_version"]
BODIES = [b"\xff", b'{"amountMinor": "one hundred"}', b'{"schema_version": 99}']
KILL, STOP, LIMIT = fault("kill_worker"), fault("stop_node"), fault("disk_limit")


def valid(case: str) -> list[str]:
    """The events of a case that are no poisons."""
    return [event for event in IDS[case] if event not in POISONS]


def checkpoint(
    ids: Sequence[str], *, amount: int = 100, aside: Sequence[Mapping[str, str]] = (), effects: Any = None
) -> dict[str, Any]:
    """The business database with one effect of each, each worth so much."""
    found = once(ids) if effects is None else effects
    counter = amount * sum(found.values())
    return {
        "inbox": dict.fromkeys(found, "hash"), "counter": counter, "effects": dict(found), "quarantine": list(aside),
    }  # fmt: skip


def case(
    facts: Mapping[str, Any],
    ids: Sequence[str],
    *,
    sent: Sequence[str] = (),
    changes: Sequence[Change] = (),
    hooks: Sequence[Hook] = (),
    **known: Any,
) -> CaseSeen:
    """A case that ran to its end: these were sent (or `sent`), confirmed, and applied once."""
    outcomes = known.pop("outcomes", confirmed(sent or ids))
    found = {"checkpoint": checkpoint(ids, **known), "outcomes_before": confirmed(sent or ids), **facts}
    # the account of the case has poisons set aside under the names by which they were sent
    named = {**found["checkpoint"], "quarantine": [{"event_id": event} for event in sent if event in POISONS]}
    made = crash_window.case({**found, "checkpoint": named}, outcomes=outcomes, changes=changes, hooks=hooks)
    return crash_window.but(made, checkpoint=found["checkpoint"])


def row(number: int, place: str, **values: Any) -> dict[str, Any]:
    """A poison in quarantine."""
    body = BODIES[number]
    told = {
        "event_id": "", "reason": f"{CLASSES[number]}: why", "error_class": CLASSES[number], "fingerprint": "f",
        "payload_hash": sha256(body).hexdigest(), "place": place, "body": body.hex(),
    }  # fmt: skip
    return {**told, **values}


def letter(number: int, place: str, **values: Any) -> dict[str, Any]:
    """A poison in the dead-letter topic."""
    told = row(number, place, **values)
    headers = {
        "mq.source": told["place"], "mq.payload.sha256": told["payload_hash"], "mq.error.class": told["error_class"],
        "mq.error.reason": told["reason"], "mq.schema.fingerprint": told["fingerprint"],
    }  # fmt: skip
    return {"offset": number, "headers": headers, "body": told["body"]}


def decoded(ids: Sequence[str], reader: int) -> list[dict[str, Any]]:
    """What a reader makes of events, written out."""
    more = {"currency": "VND"} if reader == 2 else {}
    return [{"event_id": event, "accountId": event[:12], "amountMinor": 100, **more} for event in ids]


def step(name: str, producer: int, consumers: Sequence[int], sent: int, effects: int, **values: Any) -> dict[str, Any]:
    """One step of the upgrade."""
    running = {f"producer-v{producer}": producer}
    running |= {f"consumer-{letter}-v{version}": version for letter, version in zip("ab", consumers, strict=True)}
    members = sorted(f"rolling-upgrade.{one}" for one in running if one.startswith("consumer"))
    told = {"step": name, "running": running, "members": members, "sent": sent, "effects": effects, "quarantined": 0}
    return {**told, **values}


def offsets(committed: int, end: int) -> dict[str, Any]:
    """One partition."""
    told = {"committed": committed, "start": 0, "end": end, "lag": end - committed}
    return {"at": 0.0, **{name: {"0": value} for name, value in told.items()}}


def path(*states: str, fired_after: float = 10.2) -> list[dict[str, Any]]:
    """An alert's states, which is true since 2026-12-01 10:00:00."""
    since, at = "2026-12-01T10:00:00.000000001Z", 1796119200.0
    return [
        {"state": one, "wall": at + fired_after if one == "firing" else at,
         "active_at": None if one == "inactive" else since}
        for one in states
    ]  # fmt: skip


def probes(wanted: Mapping[str, str], **other: str) -> dict[str, dict[str, Any]]:
    """Each answered as it should be, but those that are given."""
    return {name: {"outcome": outcome, "said": "why", "tries": 1} for name, outcome in {**wanted, **other}.items()}


def seen(**cases: CaseSeen) -> Seen:
    """A run of these cases; underscores in names stand for dashes."""
    return Seen(PARAMETERS, {name.replace("_", "-"): one for name, one in cases.items()})
