"""Criterion 1: every writer's events are read by every reader, field by field."""

from __future__ import annotations

from typing import Any

from drills.criteria.findings import Findings
from drills.model.seen import CaseSeen, Seen
from drills.model.verdict import Judgement

CELLS = [(writer, reader) for writer in (1, 2) for reader in (1, 2)]
AMOUNT, CURRENCY = 100, "VND"


def name(writer: int, reader: int) -> str:
    """The case of a cell."""
    return f"writer-{writer}-reader-{reader}"


def expected(event: str, reader: int) -> dict[str, Any]:
    """What a reader has to make of an event, whoever wrote it."""
    fields = {"event_id": event, "accountId": event.rpartition("-")[0], "amountMinor": AMOUNT}
    return fields if reader == 1 else {**fields, "currency": CURRENCY}


def judge(seen: Seen) -> Judgement:
    """Four cells, ten events each: fields and values after decoding."""
    findings = Findings(seen, scaled=False)
    for writer, reader in CELLS:
        cell = name(writer, reader)
        case, ids = findings.case(cell), seen.parameters["ids"][f"v{writer}"]
        if case is not None:
            _fields(findings, cell, case, [expected(event, reader) for event in ids])
            findings.each_once(cell, case, ids, counter=AMOUNT * len(ids))
            findings.clean(cell, case)
    return findings.judgement(
        "each of two readers has read the ten events of each of two writers, every field as agreed"
    )


def _fields(findings: Findings, cell: str, case: CaseSeen, wanted: list[dict[str, Any]]) -> None:
    found = case.facts.get("fields")
    findings.note(**{cell: found})
    if found is None:
        findings.unknown(f"{cell}: what was decoded is not known")
        return
    none_aside(findings, cell, case)
    told = {one.get("event_id"): one for one in found}
    different = [one["event_id"] for one in wanted if one["event_id"] in told and told[one["event_id"]] != one]
    if different:
        findings.wrong(f"{cell}: decoded to something else: {told[different[0]]}", different)


def none_aside(findings: Findings, name: str, case: CaseSeen) -> None:
    """Nothing but sentinels is in quarantine, which are no events."""
    aside = case.facts.get("checkpoint", {}).get("quarantine", [])
    if aside:
        named = {row["event_id"] or row["place"] for row in aside}
        events = [one for one in named if not one.startswith("sentinel-")]
        findings.wrong(f"{name}: {len(aside)} set aside: {aside[0]['reason']}", events)
