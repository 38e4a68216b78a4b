"""`mq-drill report RUN`: writes the evidence of a run anew from its ledger."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import Any

from drills.engine import evidence, runs
from drills.evidence.page.words import alarms, headline
from drills.evidence.visible import visible
from drills.model.verdict import Exit

ORDER = 70


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    text = "write drill.json, report.html and the other evidence of a run anew, also of one that is not finished"
    about = f"{text}; verdicts stay as they were judged (`mq-drill analyze` judges again)"
    parser = commands.add_parser("report", help=text, description=about, epilog="exit codes: 0 written, 2 no such run")
    parser.add_argument("run_name", metavar="RUN")
    parser.add_argument("--ledger", metavar="URL", help="where it is not in the run's folder (also $MQOPS_LEDGER)")
    parser.set_defaults(run=_report)


def _report(arguments: argparse.Namespace) -> int:
    folder, note, ledger = runs.open_run(arguments.run_name, arguments.ledger)
    try:
        told = evidence.write(folder, note, ledger, evidence.drill_of_run(ledger, arguments.catalog), None)
    finally:
        ledger.close()
    print("\n".join([*lines(told), "", str(folder / "report.html")]))
    return Exit.PASS


def lines(told: Mapping[str, Any]) -> Iterator[str]:
    """What `drill.json` says, in a few lines for a terminal."""
    yield f"{told['verdict']}  {told['run']} on {told['target']}: {headline(told).en}"
    yield from (f"  ! {visible(one.en)}" for one in alarms(told))
    for one in told["criteria"]:
        title = one["title"]["en"] if one["title"] else ""
        yield f"  {one['number']:2} {one['verdict']:8} {title}"
        yield f"              {visible(one['because'])}"
