"""`mq-drill analyze RUN`: judges a run again on what it stored."""

from __future__ import annotations

import argparse
import sys

from drills.engine import catalog, recovery, runs
from drills.engine.errors import WrongUse
from drills.engine.screen import Screen
from drills.lab.errors import LabError
from drills.targets import file as target_file
from drills.targets.target import Target

ORDER = 60


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    text = "judge a run again on what it stored and write its evidence anew, whatever became of its driver"
    parser = commands.add_parser("analyze", help=text, description=text, epilog="exit codes: those of `mq-drill run`")
    parser.add_argument("run_name", metavar="RUN")
    parser.add_argument("--ledger", metavar="URL", help="where it is not in the run's folder (also $MQOPS_LEDGER)")
    parser.set_defaults(run=_analyze)


def _analyze(arguments: argparse.Namespace) -> int:
    folder, note, ledger = runs.open_run(arguments.run_name, arguments.ledger)
    drill = catalog.drill_of(note.drill, arguments.catalog)
    return recovery.analyze(folder, note, ledger, drill, Screen(sys.stdout), _target(note.target))


def _target(source: str) -> Target | None:
    try:
        return target_file.find(source)
    except (WrongUse, LabError):
        return None  # it is gone; what was stored is judged all the same
