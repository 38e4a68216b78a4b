"""Criterion 8: a replay changes nothing live, does nothing twice, and rebuilds the same projection."""

from __future__ import annotations

from drills.criteria.findings import Findings
from drills.criteria.incident.c1_cells import AMOUNT
from drills.criteria.incident.c3_poisons import CLASSES
from drills.model.seen import CaseSeen, Seen
from drills.model.verdict import Judgement

CASE = "replay"


def judge(seen: Seen) -> Judgement:
    """The 20 valid events of a fixed range: no new effect, the same hash, live offsets unmoved, no poison replayed."""
    findings = Findings(seen, scaled=False)
    case = findings.case(CASE)
    ids = [event for event in seen.parameters["ids"][CASE] if event not in CLASSES]
    if case is not None:
        findings.confirmed_before(case, seen.parameters["ids"][CASE])
        _replayed(findings, case, ids)
        _read(findings, case)
        _dedupe(findings, case)
        _rebuilt(findings, case, ids)
        _live(findings, case)
        findings.each_once(CASE, case, ids, counter=AMOUNT * len(ids))
        findings.clean(CASE, case)
    return findings.judgement(
        f"{len(ids)} events were replayed twice: no new effect, and a projection with the same hash"
    )


def _replayed(findings: Findings, case: CaseSeen, ids: list[str]) -> None:
    """What the replay's topic has, by the log itself."""
    log = case.facts.get("replay_log")
    findings.note(
        replay_log=log, range=case.facts.get("range"), left_out=case.facts.get("replayed", {}).get("left_out")
    )
    if log is None:
        findings.unknown("the replay's topic was not read")
        return
    told = [one["event_id"] for one in log]
    missing, poisons = sorted(set(ids) - set(told)), sorted(set(told) & set(CLASSES))
    if missing:
        findings.wrong(f"not replayed: {', '.join(missing)}", missing)
    if poisons:
        findings.wrong(f"poisons were replayed: {', '.join(poisons)}", poisons)
    twice = sorted({event for event in told if told.count(event) > 1} - set(CLASSES))
    if twice:
        findings.wrong(f"replayed twice: {', '.join(twice)}", twice)
    changed = sorted(one["event_id"] for one in log if not one["same"] and one["event_id"] in ids)
    if changed:
        findings.wrong(f"changed on the way: {', '.join(changed)}", changed)
    strangers = sorted(set(told) - set(ids) - set(CLASSES))
    if strangers:
        findings.wrong(f"replayed without being in the range: {', '.join(map(repr, strangers))}", strangers)


def _read(findings: Findings, case: CaseSeen) -> None:
    for name in ("dedupe_offsets", "rebuild_offsets"):
        found = case.facts.get(name)
        if found is None or set(found["lag"].values()) != {0}:
            findings.unknown(f"{name}: the replay was not seen to be read to its end")


def _dedupe(findings: Findings, case: CaseSeen) -> None:
    before, after = case.facts.get("live"), case.facts.get("after_dedupe")
    if before is None or after is None:
        findings.unknown("the effects before and after the replay are not known")
        return
    more = sorted(event for event, times in after["effects"].items() if times > before["effects"].get(event, 0))
    if more or after["counter"] != before["counter"]:
        findings.wrong(
            f"the replay had new effects: {', '.join(more)}, counter {before['counter']} → {after['counter']}", more
        )


def _rebuilt(findings: Findings, case: CaseSeen, ids: list[str]) -> None:
    first, again = case.facts.get("projection"), case.facts.get("projection_rebuilt")
    findings.note(projection=first, projection_rebuilt=again)
    if first is None or again is None:
        findings.unknown("the projection before and after is not known")
        return
    events = sum(kept[0] for currencies in first["accounts"].values() for kept in currencies.values())
    if events != len(ids):
        findings.unknown(f"the projection was made of {events} events, not of {len(ids)}")
    if first["hash"] != again["hash"]:
        findings.wrong(f"the rebuilt projection is another one: {again['accounts']}, not {first['accounts']}")


def _live(findings: Findings, case: CaseSeen) -> None:
    before, after = case.facts.get("live_before"), case.facts.get("live_after")
    findings.note(live_before=before, live_after=after)
    if before is None or after is None:
        findings.unknown("the live group's offsets were not read before and after")
    elif before["committed"] != after["committed"]:
        findings.wrong(f"the live group moved from {before['committed']} to {after['committed']}")
