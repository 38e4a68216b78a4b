"""`drill.json`: one run as JSON, made of its ledger's rows and of nothing that is live."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from drills import checker
from drills.engine import seeing
from drills.engine.drill import Drill
from drills.evidence import ids
from drills.evidence.clock import apart, utc
from drills.ledger import Ledger, tables
from drills.model.verdict import Exit, Verdict, exit_of

Row = Mapping[str, Any]
SCHEMA = "urn:mqops:drill-record:1"
NOT_JUDGED = "the run ended before it was judged"
NOT_ASKED = "not asked for (--only)"
RECOVERY = ("detection_seconds", "service_seconds", "drained_seconds")
"""Keys of the fact `recovery` of a case; null: not measured."""


def record(ledger: Ledger, drill: Drill | None) -> dict[str, Any]:
    """All of it but the files. `drill`: for titles and for what did not run; None when this version has no such drill.

    Raises LookupError when the ledger has no such run.
    """
    about = ledger.about()
    changes = [_change(row) for row in ledger.rows(tables.changes)]
    criteria = _criteria(ledger, drill, about)
    facts = ledger.facts()
    return {
        "schema": SCHEMA,
        **{name: about[name] for name in ("run", "drill", "target", "seed", "quick", "state")},
        "question": None if drill is None else {"en": drill.question, "vi": drill.question_vi},
        "ended_because": _why_ended(ledger),
        "began": utc(about["began"]),
        "ended": utc(about["ended"]),
        "seconds": apart(about["began"], about["ended"]),
        **_outcome(about, criteria, changes),
        "parameters": about["parameters"],
        "parameters_sha256": about["parameters"].get("fixed") or digest(about["parameters"]),
        "budget": about["parameters"].get("budget"),
        "versions": about["versions"],
        "criteria": criteria,
        "cases": [_case(ledger, drill, name, facts.get(name, {})) for name in _case_names(ledger, drill)],
        "changes": changes,
        "hooks": [_hook(row) for row in ledger.rows(tables.hooks)],
        "workers": [_worker(row) for row in ledger.rows(tables.workers)],
        "checker": _checker(facts.get("", {}).get(checker.FACT)),
    }


def digest(value: Any) -> str:
    """SHA-256 of a JSON value, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _outcome(about: Row, criteria: Sequence[Any], changes: Sequence[Any]) -> dict[str, Any]:
    """The verdict by the criteria asked for, beside what the run ended with: a failed rollback hides nothing."""
    verdicts = [Verdict(one["verdict"]) for one in criteria if one["because"] != NOT_ASKED]
    by_criteria = exit_of(verdicts)
    failed = about["exit_code"] == Exit.ROLLBACK_FAILED or any(one["standing"] and one["undo_error"] for one in changes)
    overall = {Exit.PASS: Verdict.PASS, Exit.FAIL: Verdict.FAIL}.get(by_criteria, Verdict.UNKNOWN)
    if all(verdict is Verdict.NOT_RUN for verdict in verdicts):
        overall = Verdict.NOT_RUN
    codes = {"code": about["exit_code"], "by_criteria": int(by_criteria), "rollback_failed": failed}
    return {"verdict": overall.value, "exit": codes}


def _criteria(ledger: Ledger, drill: Drill | None, about: Row) -> list[dict[str, Any]]:
    judged = ledger.judgements()
    known = {one.number: one for one in drill.criteria} if drill is not None else {}
    only = about["parameters"].get("only")
    found = []
    for number in sorted(known.keys() | judged.keys()):
        one, judgement = known.get(number), judged.get(number)
        why = NOT_ASKED if only and number not in only else NOT_JUDGED
        evidence = dict(judgement.evidence) if judgement else {}
        found.append(
            {
                "number": number,
                "title": {"en": one.title, "vi": one.title_vi} if one else None,
                "cases": list(one.cases) if one else [],
                "verdict": (judgement.verdict if judgement else Verdict.NOT_RUN).value,
                "because": judgement.because if judgement else why,
                "ids": list(judgement.ids) if judgement else [],
                "negative_control": evidence.pop("negative_control", None),
                "evidence": evidence,
            }
        )
    return found


def _why_ended(ledger: Ledger) -> str | None:
    """Why a run was refused or aborted; null for one that went to its end, or was cut off."""
    told: list[str] = [row["text"] for row in ledger.rows(tables.timeline) if row["kind"] == "end"]
    return told[-1] if told else None


def _case_names(ledger: Ledger, drill: Drill | None) -> list[str]:
    """The drill's cases in its order, then those that only the ledger knows; without those of the checker."""
    stored = [row["case"] for table in (tables.timeline, tables.attempts) for row in ledger.rows(table)]
    named = [case.name for case in drill.cases] if drill is not None else []
    return [name for name in dict.fromkeys([*named, *stored]) if name and name not in checker.CASES]


def _case(ledger: Ledger, drill: Drill | None, name: str, facts: Row) -> dict[str, Any]:
    known = next((case for case in drill.cases if case.name == name), None) if drill is not None else None
    account = seeing.account(ledger, name, {"effects": {}, **facts})
    result = seeing.reconciliation(ledger, name, facts)
    phases = _phases(ledger, name)
    return {
        "name": name,
        "title": known.title if known else None,
        "negative_control": bool(getattr(known, "negative_control", False)),
        "finished": name in seeing.finished_cases(ledger),
        "phases": phases,
        "recovery": _recovery(facts.get("recovery")),
        "reconciliation": None
        if result is None
        else {
            "verdict": result.verdict.value,
            "undrained": result.undrained,
            "classes": {one: list(getattr(result, one)) for one in ids.CLASSES},
            "located": dict(result.located),
        },
        "sets": {}
        if account is None
        else {key: len(events) for key, events in ids.sets(account, effects_known="effects" in facts).items()},
        "facts": [
            {"name": row["name"], "value": row["value"], "source": row["source"], "at": utc(row["wall"])}
            for row in ledger.rows(tables.facts, name)
        ],
    }


def _recovery(stored: Any) -> dict[str, Any] | None:
    return None if stored is None else {key: stored.get(key) for key in RECOVERY}


def _phases(ledger: Ledger, case: str) -> list[dict[str, Any]]:
    """The phases of a case in the order in which they began. `state`: begun, ended, failed; begun has no end."""
    rows = [row for row in ledger.rows(tables.timeline, case) if row["kind"] == "phase"]
    begun: dict[str, Row] = {}
    last: dict[str, Row] = {}
    for row in rows:
        begun.setdefault(row["data"]["phase"], row)
        last[row["data"]["phase"]] = row
    return [_phase(name, begun[name], last[name]) for name in begun]


def _phase(name: str, begun: Row, last: Row) -> dict[str, Any]:
    over = last["data"]["state"] in ("ended", "failed")
    return {
        "phase": name,
        "state": last["data"]["state"] if over else "begun",
        "began": utc(begun["wall"]),
        "ended": utc(last["wall"]) if over else None,
        "seconds": apart(begun["monotonic"], last["monotonic"]) if over else None,
        "error": last["data"].get("error") or None,
    }


def _checker(stored: Row | None) -> dict[str, Any] | None:
    """What the checker came to; null when it was not run. `error`: why it came to nothing."""
    if stored is None:
        return None
    return {"planted": stored.get("planted", {}), "missed": stored.get("missed", {}), "error": stored.get("error")}


def _change(row: Row) -> dict[str, Any]:
    times = {name: utc(row[name]) for name in ("planned", "made", "bitten", "undone")}
    kept = {name: row[name] for name in ("number", "case", "kind", "arguments", "is_fault", "bite", "undo_error")}
    return {**kept, **times, "standing": row["undone"] is None}


def _hook(row: Row) -> dict[str, Any]:
    kept = {name: row[name] for name in ("case", "worker", "hook", "event_id")}
    return {**kept, "reached": utc(row["reached"]), "released": utc(row["released"])}


def _worker(row: Row) -> dict[str, Any]:
    kept = {name: row[name] for name in ("name", "case", "role", "pid", "exit_code")}
    return {**kept, "began": utc(row["began"]), "ended": utc(row["ended"])}
