"""What happened in a case, moment by moment: faults and their proofs, hooks, recoveries, alerts."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Told = Mapping[str, Any]
Found = tuple[float, str, str]
"""Seconds since 1970, a class of the style sheet, and what happened."""

SHOWN = ("recovery", "alert")  # kinds of the timeline's entries
PROCESS = ("pid", "started")  # which the proof tells, too


@dataclass(frozen=True, slots=True)
class Moment:
    """An entry of the list below a plot. `at`: seconds since the run began."""

    number: int
    at: float
    kind: str
    text: str


def of_case(told: Told, entries: Sequence[Told], case: str, origin: float) -> list[Moment]:
    """The moments of a case in order, numbered from 1. `entries`: the timeline; `origin`: when the run began."""
    mine = [one for one in told["changes"] if one["is_fault"] and one["case"] == case]
    found = [*_faults(mine), *_hooks(told, case), *_noted(entries, case)]
    return [Moment(n, at - origin, kind, text) for n, (at, kind, text) in enumerate(sorted(found), 1)]


def seconds_of(text: str | None) -> float | None:
    """A time of `drill.json` as seconds since 1970."""
    return None if text is None else datetime.datetime.fromisoformat(text).timestamp()


def what(change: Told) -> str:
    """A change by its kind and what it was about."""
    return f"{change['kind']} {_short({name: one for name, one in change['arguments'].items() if name not in PROCESS})}"


def _faults(changes: Sequence[Told]) -> Iterator[Found]:
    for one in changes:
        proof = f"bite: {_short(one['bite'])}" if one["bite"] is not None else "no bite"
        if (at := seconds_of(one["made"] or one["planned"])) is not None:
            yield at, "fault", f"{what(one)}, {proof}"
        if (at := seconds_of(one["undone"])) is not None:
            yield at, "recovery", f"undone: {what(one)}"


def _hooks(told: Told, case: str) -> Iterator[Found]:
    for one in told["hooks"]:
        at = seconds_of(one["reached"])
        if one["case"] == case and at is not None:
            how = "released" if one["released"] else "not released: killed or held there"
            yield at, "hook", f"{one['hook']} {one['event_id']} ({one['worker']}), {how}"


def _noted(entries: Sequence[Told], case: str) -> Iterator[Found]:
    """What a case noted of its recovery; the undoing of its changes is told by the changes."""
    for one in entries:
        if one["case"] == case and one["kind"] in SHOWN and "number" not in one["data"]:
            yield one["wall"], one["kind"], one["text"]


def _short(value: Any) -> str:
    """Arguments or a proof in a few words."""
    if not isinstance(value, Mapping):
        return str(value)
    return ", ".join(f"{name}={text}" for name, text in value.items() if not isinstance(text, Mapping | list))
