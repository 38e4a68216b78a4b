"""How long it took after a fault until the service was there again, and until all was drained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from drills.business import tables as business
from drills.engine.drill import Criterion, Drill
from drills.ledger import Ledger, tables
from drills.ledger.database import connect
from drills.model.seen import Seen
from drills.model.verdict import Judgement, Verdict

FACT = "recovery"
SOURCE = "the times of fault, alert and drain in the ledger, and of effects in the business database"


def note(ledger: Ledger, business_url: str, case: str) -> None:
    """Notes the fact `recovery` of a case with a fault: seconds from its first proof, None where it never came.

    `detection_seconds`: until Prometheus was first seen to fire the case's alert; `service_seconds`: until the first
    effect after it; `drained_seconds`: until the drain was proven.
    """
    faults = [row["bitten"] for row in ledger.rows(tables.changes, case) if row["is_fault"] and row["bitten"]]
    if not faults or FACT in ledger.facts().get(case, {}):
        return
    fault = min(faults)
    effect = _first_effect(business_url, ledger.run, case, fault)
    drains = [row["wall"] for row in ledger.rows(tables.facts, case) if row["name"] == "drain" and row["wall"] > fault]
    alerts = [row["wall"] for row in ledger.rows(tables.timeline, case) if _fires(row) and row["wall"] > fault]
    times = {
        "detection_seconds": min(alerts, default=None),
        "service_seconds": effect,
        "drained_seconds": min(drains, default=None),
    }
    found = {name: None if at is None else round(at - fault, 3) for name, at in times.items()}
    ledger.fact(case, FACT, found, SOURCE)


def _fires(row: Mapping[str, Any]) -> bool:
    found: bool = row["kind"] == "alert" and row["data"].get("state") == "firing"
    return found


def judged(drill: Drill, seconds: float | None, only: Sequence[int] | None) -> Drill:
    """The drill with one more criterion, the last: after each proven fault the service was back within `seconds`."""
    if seconds is None:
        return drill
    _, cases = drill.needed(only)
    number = max(one.number for one in drill.criteria) + 1
    names = tuple(case.name for case in cases)
    title, title_vi = (
        f"service is back within {seconds:g} s of each fault",
        f"phục vụ lại trong {seconds:g} giây sau mỗi lỗi",
    )
    extra = Criterion(number, title, title_vi, lambda seen: judge(seen, names, seconds), names)
    return replace(drill, criteria=(*drill.criteria, extra))


def judge(seen: Seen, cases: Sequence[str], seconds: float) -> Judgement:
    """FAIL names the cases that took longer, UNKNOWN those in which no effect came after the fault."""
    took = {name: seen.cases[name].facts[FACT]["service_seconds"] for name in cases if FACT in seen.cases[name].facts}
    evidence = {"service_seconds": took, "budget_seconds": seconds}
    late = [f"{name}: {found:g} s" for name, found in took.items() if found is not None and found > seconds]
    if late:
        return Judgement(Verdict.FAIL, f"later than {seconds:g} s: {', '.join(late)}", (), evidence)
    unknown = [name for name, found in took.items() if found is None]
    if unknown or not took:
        told = f"no effect came after the fault in {', '.join(unknown)}" if unknown else "no case had a fault"
        return Judgement(Verdict.UNKNOWN, told, (), evidence)
    return Judgement(Verdict.PASS, f"at most {max(took.values()):g} s", (), evidence)


def _first_effect(url: str, run: str, case: str, after: float) -> float | None:
    """When the first effect of a case after a moment was applied; None when none was."""
    effects = business.effects.c
    mine = (effects.run == run) & (effects.case == case) & (effects.at > after)
    engine = connect(url)
    try:
        with engine.begin() as connection:
            if not sa.inspect(connection).has_table(business.effects.name):
                return None
            found: float | None = connection.scalar(sa.select(sa.func.min(effects.at)).where(mine))
            return found
    finally:
        engine.dispose()
