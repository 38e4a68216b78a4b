"""`mq-drill status`: the runs there are, and what of them still stands."""

from __future__ import annotations

import argparse
import datetime

from sqlalchemy.exc import SQLAlchemyError

from drills.engine import judging, runs
from drills.engine.undo import first_line
from drills.lab.processes import Process
from drills.ledger import Ledger

ORDER = 40


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    text = "the runs there are, how far they came, and what they changed that still stands"
    parser = commands.add_parser("status", help=text, description=text)
    parser.add_argument("run_name", metavar="RUN", nargs="?")
    parser.set_defaults(run=_status)


def _status(arguments: argparse.Namespace) -> int:
    names = [arguments.run_name] if arguments.run_name else runs.names()
    if not names:
        print(f"no run in {runs.root()}")
    for name in names:
        _, _, ledger = runs.open_run(name)
        try:
            print(_line(ledger))
            if arguments.run_name:
                print("\n".join(_more(ledger)))
        except (SQLAlchemyError, LookupError) as error:
            print(f"{name:44} its ledger can't be read: {first_line(error)}")
        finally:
            ledger.close()
    return 0


def _line(ledger: Ledger) -> str:
    about = ledger.about()
    state = about["state"]
    if state == "running" and not Process(about["driver_pid"], about["driver_started"]).alive():
        state = "KILLED"
    began = datetime.datetime.fromtimestamp(about["began"], datetime.UTC)
    code = "" if about["exit_code"] is None else f"exit {about['exit_code']}"
    standing = ledger.standing_changes()
    stands = f"  {len(standing)} changes may stand: mq-drill recover {ledger.run}" if standing else ""
    verdicts = [one.verdict.value for one in ledger.judgements().values()]
    counts = ", ".join(f"{verdicts.count(one)} {one}" for one in dict.fromkeys(verdicts))
    return (
        f"{ledger.run:44} {about['target']:10} {began:%Y-%m-%d %H:%M:%S} {state:9} {code:7} {counts}{stands}".rstrip()
    )


def _more(ledger: Ledger) -> list[str]:
    cases = [
        f"  case {name}: {found.phase} {found.state} {found.error}".rstrip()
        for name, found in judging.progress(ledger).items()
    ]
    criteria = [
        f"  criterion {number} {found.verdict.value}: {found.because}"
        for number, found in sorted(ledger.judgements().items())
    ]
    standing = [f"  may stand: {row['kind']} {row['arguments']}" for row in ledger.standing_changes()]
    return [*cases, *criteria, *standing]
