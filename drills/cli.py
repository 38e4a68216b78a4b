"""The command `mq-drill`."""

from __future__ import annotations

import argparse
import importlib.metadata
import sys
from collections.abc import Sequence

from sqlalchemy.exc import SQLAlchemyError

from drills import commands
from drills.engine.catalog import PACKAGE
from drills.engine.errors import Refused, WrongUse
from drills.engine.undo import first_line
from drills.lab import LabError
from drills.lab import cli as lab
from drills.model.verdict import Exit
from drills.targets.target import TargetError

ABOUT = """\
Real clusters on this machine, and drills that break them on purpose.

  mq-drill lab up demo              three Kafka brokers and controllers, three RabbitMQ nodes, Prometheus and
                                    Alertmanager, on loopback; installs what is missing (Debian)
  mq-drill lab status demo          what runs, and on which ports
  mq-drill lab env demo             addresses, for the shell
  mq-drill lab kill demo kafka-1    SIGKILL one broker; `lab start demo kafka-1` brings it back
  mq-drill lab down demo            leaves no process, port, mount or file

  mq-drill list                     the drills there are
  mq-drill plan DRILL               all that one would do; touches nothing
  mq-drill run DRILL --target demo  runs one, and says whether the system recovered
  mq-drill recover RUN              puts back what a killed run left
  mq-drill analyze RUN              judges it again on what it stored
  mq-drill report RUN               writes report.html and the other evidence of it anew
  mq-drill compare RUN RUN          two runs side by side

Every command explains itself: mq-drill lab --help, mq-drill run --help.
"""


def main(arguments: Sequence[str] | None = None, catalog: str = PACKAGE) -> int:
    """Runs one command; the exit code. `catalog`: the package whose drills there are."""
    parser = argparse.ArgumentParser(
        prog="mq-drill", description=ABOUT, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action="version", version=f"mq-drill {_version()}")
    parsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    lab.add_parser(parsers)
    commands.add_parsers(parsers)
    chosen = parser.parse_args(arguments)
    chosen.catalog = catalog
    try:
        code: int = chosen.run(chosen)
    except LabError as error:
        return lab.fail(error)
    except Refused as refused:
        return _fail(f"refused: {refused}", Exit.REFUSED)
    except WrongUse as wrong:
        return _fail(str(wrong), Exit.USAGE)
    except SQLAlchemyError as error:
        return _fail(f"refused: a database can't be used, nothing was touched: {first_line(error)}", Exit.REFUSED)
    except (TargetError, LookupError) as error:
        return _fail(first_line(error), Exit.USAGE)
    except KeyboardInterrupt:
        return lab.interrupted()
    return code


def _fail(text: str, code: Exit) -> int:
    print(f"mq-drill: {text}", file=sys.stderr)
    return code


def _version() -> str:
    try:
        return importlib.metadata.version("mqops")
    except importlib.metadata.PackageNotFoundError:
        return "(not installed)"
