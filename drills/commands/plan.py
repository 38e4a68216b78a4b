"""`mq-drill plan NAME`: all that a run would do, before anything is touched."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from drills.engine import catalog
from drills.engine.drill import Drill

ORDER = 20
LONG = 4  # more than these of a list are not all shown


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    text = "every resource, fault, rollback and criterion of a drill; touches nothing"
    parser = commands.add_parser("plan", help=text, description=text)
    parser.add_argument("name", metavar="DRILL")
    add_extent(parser)
    parser.set_defaults(run=_plan)


def add_extent(parser: argparse.ArgumentParser) -> None:
    """Options that say how much of a drill is meant."""
    parser.add_argument("--only", metavar="CRITERIA", type=_numbers, help="such as 1,4: only the cases that they need")
    parser.add_argument("--quick", action="store_true", help="smaller counts; never claims the full criteria")


def lines(drill: Drill, only: tuple[int, ...] | None, quick: bool) -> Iterator[str]:
    """The plan, for a person."""
    criteria, cases = drill.needed(only)
    parameters = drill.parameters(quick)
    yield f"{drill.name}: {drill.question}"
    yield f"needs {', '.join(drill.systems) or 'no broker'}; parameters{' (quick)' if quick else ''}:"
    yield from (f"  {name} = {_shown(value)}" for name, value in parameters.items())
    for case in cases:
        yield f"\ncase {case.name}: {case.title}" + (" (takes a majority away)" if case.about_quorum_loss else "")
        yield from (f"  {line}" for line in case.plan(parameters))
        yield f"  each phase is ended by a watchdog after {case.phase_seconds:.0f} s; then all of it is rolled back"
    yield "\ncriteria:"
    yield from (f"  {one.number}. {one.title} (judged on: {', '.join(one.cases)})" for one in criteria)


def _shown(value: Any) -> str:
    """A value in a line: of long lists the ends and the length."""
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_shown(one)}" for name, one in value.items())
    if isinstance(value, list) and len(value) > LONG:
        return f"{value[0]} to {value[-1]} ({len(value)})"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _plan(arguments: argparse.Namespace) -> int:
    drill = catalog.drill_of(arguments.name, arguments.catalog)
    print("\n".join(lines(drill, arguments.only, arguments.quick)))
    print("\nnothing was touched")
    return 0


def _numbers(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdigit() for part in parts):
        raise argparse.ArgumentTypeError(f"expected numbers of criteria such as 1,4, got {text!r}")
    return tuple(sorted({int(part) for part in parts}))
