"""Criterion 3: a poison is set aside with all that a repair needs, also when the consumer dies at it."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from drills.criteria.findings import Findings
from drills.criteria.incident.c1_cells import AMOUNT
from drills.model.seen import CaseSeen, Seen
from drills.model.verdict import Judgement

TOPIC, QUEUE = "poisoned-topic", "poisoned-queue"
TOPIC_HOOK, QUEUE_HOOK = "AFTER_DEAD_LETTER_BEFORE_COMMIT", "AFTER_QUARANTINE_BEFORE_ACK"
CLASSES = {
    "poison-0001-001": "malformed", "poison-0002-001": "invalid", "poison-0003-001": "unsupported_version",
}  # fmt: skip
FIRST = "poison-0001-001"


def judge(seen: Seen) -> Judgement:
    """Raw bytes, hash, coordinates, error class, schema fingerprint; valid events flow on; a crash loses nothing."""
    findings = Findings(seen, scaled=False)
    for name, killed, kept in ((TOPIC, _topic_killed, _dead_letters), (QUEUE, _queue_killed, _quarantine)):
        case = findings.case(name)
        if case is None:
            continue
        ids = [event for event in seen.parameters["ids"][name] if event not in CLASSES]
        if findings.bite(case, ["kill_worker"]):
            killed(findings, case)
        kept(findings, case)
        findings.confirmed_before(case, seen.parameters["ids"][name])
        findings.each_once(name, case, ids, counter=AMOUNT * len(ids))
        findings.clean(name, case)
    return findings.judgement(
        "three poisons are set aside on each system with bytes, hash, place, class and schema; the others flowed on"
    )


# Kafka: the dead letter and the offset are one transaction


def _topic_killed(findings: Findings, case: CaseSeen) -> None:
    places = case.facts.get("places") or {}
    place = places.get(FIRST, "")
    if not findings.held(case, TOPIC_HOOK, place):
        return
    sent, dead, offsets = (case.facts.get(name) for name in ("sent_at_hook", "dead_at_hook", "offsets_at_hook"))
    findings.note(sent_at_hook=sent, dead_at_hook=dead, offsets_at_hook=offsets)
    if sent is None or dead is None or offsets is None:
        findings.unknown(f"{TOPIC}: what was to be seen of the open transaction was not read")
        return
    committed = offsets["committed"].get("0")
    if committed is not None and place and committed > int(place.rpartition("/")[2]):
        findings.wrong(f"{TOPIC}: the offset was committed before its dead letter: {committed} behind {place}", [FIRST])
    if dead:
        findings.wrong(f"{TOPIC}: the dead letter was to be seen before its transaction was committed", [FIRST])
    if not sent and not findings.wrongs:
        findings.unknown(f"{TOPIC}: no dead letter was sent when the consumer was killed")


def _dead_letters(findings: Findings, case: CaseSeen) -> None:
    found, places = case.facts.get("dead_letters_read"), case.facts.get("places")
    findings.note(dead_letters=found)
    if found is None or places is None:
        findings.unknown(f"{TOPIC}: the dead letters could not be read")
        return
    told = [
        {
            "place": one["headers"].get("mq.source"), "payload_hash": one["headers"].get("mq.payload.sha256"),
            "error_class": one["headers"].get("mq.error.class"), "body": one["body"],
            "fingerprint": one["headers"].get("mq.schema.fingerprint"),
        }
        for one in found
    ]  # fmt: skip
    _whole(findings, TOPIC, told, {event: places.get(event, "") for event in CLASSES})


# RabbitMQ: the ack follows the quarantine


def _queue_killed(findings: Findings, case: CaseSeen) -> None:
    if not findings.held(case, QUEUE_HOOK, f"work/{FIRST}"):
        return
    kept, queue = case.facts.get("at_hook"), case.facts.get("queue_at_hook")
    findings.note(quarantine_at_hook=kept and kept["quarantine"], queue_at_hook=queue)
    if kept is None or queue is None or queue["messages"] is None:
        findings.unknown(f"{QUEUE}: what was to be seen before the ack was not read")
        return
    if not kept["quarantine"]:
        findings.wrong(f"{QUEUE}: {FIRST} was not in quarantine when its consumer was killed", [FIRST])
    left = len(findings.seen.parameters["ids"][QUEUE]) - len(kept["effects"])
    if queue["messages"] < left:
        findings.wrong(f"{QUEUE}: {FIRST} was acked before its hook: {queue['messages']} are left, not {left}", [FIRST])
    elif queue["messages"] > left:
        findings.unknown(f"{QUEUE}: {queue['messages']} are left, and not {left} as the database has it")


def _quarantine(findings: Findings, case: CaseSeen) -> None:
    found = case.facts.get("checkpoint")
    if found is None:
        return
    findings.note(quarantine=found["quarantine"])
    _whole(findings, QUEUE, found["quarantine"], {event: f"work/{event}" for event in CLASSES})


def _whole(findings: Findings, name: str, rows: list[dict[str, Any]], places: Mapping[str, str]) -> None:
    """One row of each poison, with everything."""
    for event, error_class in CLASSES.items():
        mine = [row for row in rows if row["place"] == places[event]]
        if len(mine) != 1:
            findings.wrong(f"{name}: {event} is set aside {len(mine)} times, not once", [event])
            continue
        [row] = mine
        if sha256(bytes.fromhex(row["body"])).hexdigest() != row["payload_hash"]:
            findings.wrong(f"{name}: the hash of {event} is not that of its bytes", [event])
        if row["error_class"] != error_class:
            findings.wrong(f"{name}: {event} is called {row['error_class']}, not {error_class}", [event])
        if not row["fingerprint"]:
            findings.wrong(f"{name}: {event} does not say by which schema it was read", [event])
    strangers = [str(row["place"]) for row in rows if row["place"] not in places.values()]
    if strangers:
        findings.wrong(f"{name}: set aside without a reason: {', '.join(strangers)}")
