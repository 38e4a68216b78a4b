"""`mq-drill run NAME --target T`: breaks a cluster on purpose and says whether it recovered."""

from __future__ import annotations

import argparse
import math
import secrets
import sys

from drills.actors.worker import start
from drills.commands.plan import add_extent, lines
from drills.engine import catalog, guards
from drills.engine.driver import Driver, Options
from drills.engine.errors import WrongUse
from drills.engine.screen import Screen
from drills.targets import file as target_file

ORDER = 30
ABOUT = """\
Breaks a cluster on purpose, proves that it broke, brings it back, and judges by IDs whether anything was lost or done
twice. Whatever it changes is noted first and put back at the end, also after Ctrl-C. After a kill -9 of this command:
mq-drill recover RUN, then mq-drill analyze RUN.
"""
EXIT = """\
exit codes: 0 all criteria pass; 1 a criterion failed; 2 wrong usage or configuration; 3 refused by a guard, or
preflight not met; 4 inconclusive (a criterion unknown or blocked); 5 aborted by Ctrl-C, a watchdog or a stop
condition, and rolled back; 6 not everything was rolled back: a person is needed
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = commands.add_parser(
        "run", help="run a drill on a target", description=ABOUT, epilog=EXIT, formatter_class=raw
    )
    parser.add_argument("name", metavar="DRILL")
    parser.add_argument("--target", metavar="T", required=True, help="a lab's name, or the path of a target file")
    parser.add_argument("--seed", metavar="N", type=int, help="IDs and schedules follow from it (default: a new one)")
    add_extent(parser)
    parser.add_argument("--yes", metavar="TARGET", help="the target's name: nobody is asked to type it")
    parser.add_argument("--dry-run", action="store_true", help="print the plan, and touch nothing")
    parser.add_argument(
        "--stop-on",
        metavar="CONDITION",
        action="append",
        default=[],
        help="an alert's name or a PromQL expression: abort and roll back when it fires or has a value",
    )
    parser.add_argument("--silence", action="store_true", help="silence alerts on the run's own scope meanwhile")
    parser.add_argument(
        "--ledger",
        metavar="URL",
        help="of a PostgreSQL database (default: $MQOPS_LEDGER, else SQLite in the run's folder)",
    )
    parser.add_argument(
        "--business", metavar="URL", help="of the drill's business database, likewise ($MQOPS_BUSINESS)"
    )
    parser.add_argument(
        "--rto", metavar="SECONDS", type=_seconds, help="judge too that the service is back so soon after each fault"
    )
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    drill = catalog.drill_of(arguments.name, arguments.catalog)
    known = [one.number for one in drill.criteria]
    if unknown := sorted(set(arguments.only or ()) - set(known)):
        raise WrongUse(f"{drill.name} has no criterion {unknown[0]}; it has {', '.join(map(str, known))}")
    target = target_file.find(arguments.target)
    guards.check_target(target, drill)
    if arguments.dry_run:
        print("\n".join(lines(drill, arguments.only, arguments.quick)))
        print("\nnothing was touched")
        return 0
    seed = secrets.randbits(31) if arguments.seed is None else arguments.seed
    guards.check_confirmed(target, arguments.yes, sys.stdin, _line(arguments, target.name))
    options = Options(
        seed=seed,
        quick=arguments.quick,
        only=arguments.only,
        stop_on=tuple(arguments.stop_on),
        silence=arguments.silence,
        rto=arguments.rto,
        ledger_url=arguments.ledger,
        business_url=arguments.business,
    )
    return Driver(drill, target, options, Screen(sys.stdout), start).play()


def _seconds(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0.0 < found < math.inf:
        raise argparse.ArgumentTypeError(f"expected seconds such as 30, got {text!r}")
    return found


def _line(arguments: argparse.Namespace, target: str) -> str:
    extent = [f"--only {','.join(map(str, arguments.only))}"] if arguments.only else []
    quick = ["--quick"] if arguments.quick else []
    return " ".join(
        ["mq-drill run", arguments.name, f"--target {arguments.target}", *extent, *quick, f"--yes {target}"]
    )
