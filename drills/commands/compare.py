"""`mq-drill compare RUN RUN`: two runs of a drill side by side."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import Any

from drills.engine import evidence, runs
from drills.engine.errors import WrongUse
from drills.evidence.record import RECOVERY, record
from drills.evidence.visible import visible
from drills.model.verdict import Exit, Verdict

ORDER = 80
WORSE_LAST = (Verdict.PASS, Verdict.NOT_RUN, Verdict.BLOCKED, Verdict.UNKNOWN, Verdict.FAIL)
SAME_PARAMETERS = ("only", "stop_on")  # how it was asked for; they change no figure

Told = Mapping[str, Any]


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    text = "two runs of a drill side by side: verdicts, recovery times, counts, and what differed before they began"
    codes = "exit codes: 0 no criterion is worse in the second run, 1 one is, 2 wrong use"
    parser = commands.add_parser("compare", help=text, description=text, epilog=codes)
    parser.add_argument("run_names", metavar="RUN", nargs=2)
    parser.set_defaults(run=_compare)


def _compare(arguments: argparse.Namespace) -> int:
    one, other = (_told(name, arguments.catalog) for name in arguments.run_names)
    if one["drill"] != other["drill"]:
        raise WrongUse(f"{one['run']} is a run of {one['drill']}, {other['run']} one of {other['drill']}")
    print("\n".join(visible(line) for line in lines(one, other)))
    return Exit.FAIL if worse(one, other) else Exit.PASS


def _told(name: str, catalog: str) -> Told:
    _, _, ledger = runs.open_run(name)
    try:
        return record(ledger, evidence.drill_of_run(ledger, catalog))
    finally:
        ledger.close()


def worse(one: Told, other: Told) -> list[int]:
    """The criteria whose verdict is worse in the other run."""
    return [number for number, _, verdicts in _criteria(one, other) if _rank(verdicts[1]) > _rank(verdicts[0])]


def _rank(verdict: str) -> int:
    return WORSE_LAST.index(Verdict(verdict)) if verdict else WORSE_LAST.index(Verdict.NOT_RUN)


def lines(one: Told, other: Told) -> Iterator[str]:
    """Everything, for a terminal; what is the same in both is left out of counts."""
    yield _row("", one["run"], other["run"])
    yield _row("verdict", one["verdict"], other["verdict"])
    yield _row("target", one["target"], other["target"])
    yield _row("lasted", _seconds(one["seconds"]), _seconds(other["seconds"]))
    yield from _section("before the run, where they differ", _differences(_before(one), _before(other)))
    bad = worse(one, other)
    yield from _section(
        "criteria",
        (
            _row(f"{number} {title}", *verdicts) + ("  worse" if number in bad else "")
            for number, title, verdicts in _criteria(one, other)
        ),
    )
    yield from _section("recovery times", _recovery(one, other))
    yield from _section("counts of IDs, where they differ", _differences(_counts(one), _counts(other)))


def _row(what: str, first: object, second: object) -> str:
    return f"{what[:48]:48}  {first!s:40}  {second!s}".rstrip()


def _section(title: str, rows: Iterator[str]) -> Iterator[str]:
    found = list(rows)
    yield from ["", f"{title}:", *(f"  {row}" for row in found or ["none"])]


def _criteria(one: Told, other: Told) -> Iterator[tuple[int, str, tuple[str, str]]]:
    first, second = ({row["number"]: row for row in told["criteria"]} for told in (one, other))
    for number in sorted(first.keys() | second.keys()):
        rows = (first.get(number), second.get(number))
        title = next((row["title"]["en"] for row in rows if row and row["title"]), "")
        yield number, title, (rows[0]["verdict"] if rows[0] else "", rows[1]["verdict"] if rows[1] else "")


def _recovery(one: Told, other: Told) -> Iterator[str]:
    """Each case that measured one; a time that was not measured is a dash, and has no difference."""
    first, second = ({case["name"]: case["recovery"] or {} for case in told["cases"]} for told in (one, other))
    for case in dict.fromkeys([*first, *second]):
        for key in RECOVERY:
            times = (first.get(case, {}).get(key), second.get(case, {}).get(key))
            if times != (None, None):
                name = f"{case}: {key.removesuffix('_seconds')}"
                yield _row(name, _seconds(times[0]), f"{_seconds(times[1])}{_change(*times)}")


def _change(first: float | None, second: float | None) -> str:
    return "" if first is None or second is None else f"  ({second - first:+.1f} s)"


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f} s"


def _before(told: Told) -> dict[str, object]:
    parameters = {
        f"parameter {name}": value for name, value in told["parameters"].items() if name not in SAME_PARAMETERS
    }
    versions = {f"version {name}": value for name, value in told["versions"].items()}
    return {"quick": told["quick"], "seed": told["seed"], **parameters, **versions}


def _counts(told: Told) -> dict[str, object]:
    return {f"{case['name']}: {name}": count for case in told["cases"] for name, count in case["sets"].items()}


def _differences(first: Mapping[str, object], second: Mapping[str, object]) -> Iterator[str]:
    for name in dict.fromkeys([*first, *second]):
        if first.get(name) != second.get(name):
            yield _row(name, first.get(name, "-"), second.get(name, "-"))
