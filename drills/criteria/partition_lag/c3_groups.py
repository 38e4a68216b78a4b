"""Criterion 3: members beyond the partitions are idle, and the exporter says so. Nothing is claimed of their speed."""

from __future__ import annotations

from typing import Any

from drills.criteria.findings import Findings
from drills.model.seen import CaseSeen, Seen
from drills.model.verdict import Judgement

SIZES, PARTITIONS, STRATEGY = (1, 3, 5), 3, "range"


def judge(seen: Seen) -> Judgement:
    """Groups of 1, 3 and 5 on three partitions, strategy pinned: once stable, idle are 0, 0 and 2."""
    findings = Findings(seen)
    ids = seen.parameters["ids"]["balanced"]
    for size in SIZES:
        name = f"group-of-{size}"
        case = findings.case(name)
        if case is not None:
            _group(findings, case, name, size)
            findings.note(**{f"completions_{size}": case.facts.get("completions")})
            findings.each_once(name, case, ids)
            findings.clean(name, case)
    return findings.judgement("groups of 1, 3 and 5 became stable; idle members were 0, 0 and 2, also by the exporter")


def _group(findings: Findings, case: CaseSeen, name: str, size: int) -> None:
    found = case.facts.get("group")
    findings.note(**{f"assignment_{size}": found})
    if found is None or found["state"] != "Stable":
        findings.unknown(f"{name}: it was not seen stable: {None if found is None else found['state']}")
        return
    given = sorted(number for member in found["members"] for number in member["partitions"])
    if found["strategy"] != STRATEGY:
        findings.unknown(f"{name}: it agreed on {found['strategy']}, and {STRATEGY} was pinned")
    if given != list(range(PARTITIONS)):
        findings.wrong(f"{name}: the members have partitions {given}, and not each of {PARTITIONS} once")
    idle = max(0, size - PARTITIONS)
    if (len(found["members"]), found["idle"]) != (size, idle):
        findings.wrong(f"{name}: {len(found['members'])} members, {found['idle']} idle; expected {size} and {idle}")
    _exporter(findings, name, found)


def _exporter(findings: Findings, name: str, found: dict[str, Any]) -> None:
    """It says what the coordinator says."""
    told = found["exporter"]
    if told is None or None in told.values():
        findings.unknown(f"{name}: the exporter did not tell members and idle members")
    elif (told["members"], told["idle"]) != (len(found["members"]), found["idle"]):
        findings.wrong(
            f"{name}: the exporter says {told['members']:g} members and {told['idle']:g} idle, the coordinator "
            f"{len(found['members'])} and {found['idle']}"
        )
