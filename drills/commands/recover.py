"""`mq-drill recover RUN`: puts back what a killed run left."""

from __future__ import annotations

import argparse
import sys

from drills.engine import recovery, runs
from drills.engine.screen import Screen
from drills.targets import file as target_file

ORDER = 50


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    text = "end the processes of a run whose driver was killed and undo what it changed; can be repeated"
    parser = commands.add_parser(
        "recover", help=text, description=text, epilog="exit codes: 0 all is put back; 6 it is not"
    )
    parser.add_argument("run_name", metavar="RUN")
    parser.add_argument("--ledger", metavar="URL", help="where it is not in the run's folder (also $MQOPS_LEDGER)")
    parser.add_argument("--target", metavar="T", help="where it is not found any more by what the run noted")
    parser.set_defaults(run=_recover)


def _recover(arguments: argparse.Namespace) -> int:
    folder, note, ledger = runs.open_run(arguments.run_name, arguments.ledger)
    return recovery.recover(folder, ledger, target_file.find(arguments.target or note.target), Screen(sys.stdout))
