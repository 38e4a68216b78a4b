"""The command `mq-drill`."""

from __future__ import annotations

import argparse
import importlib.metadata
from collections.abc import Sequence

from drills.lab import LabError
from drills.lab import cli as lab

ABOUT = """\
Real clusters on this machine, and drills that break them on purpose.

  mq-drill lab up demo              three Kafka brokers and controllers, three RabbitMQ nodes, Prometheus and
                                    Alertmanager, on loopback; installs what is missing (Debian)
  mq-drill lab status demo          what runs, and on which ports
  mq-drill lab env demo             addresses, for the shell
  mq-drill lab kill demo kafka-1    SIGKILL one broker; `lab start demo kafka-1` brings it back
  mq-drill lab down demo            leaves no process, port, mount or file

Every command explains itself: mq-drill lab --help, mq-drill lab up --help.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; the exit code."""
    parser = argparse.ArgumentParser(
        prog="mq-drill", description=ABOUT, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action="version", version=f"mq-drill {_version()}")
    lab.add_parser(parser.add_subparsers(title="commands", metavar="COMMAND", required=True))
    chosen = parser.parse_args(arguments)
    try:
        code: int = chosen.run(chosen)
    except LabError as error:
        return lab.fail(error)
    except KeyboardInterrupt:
        return lab.interrupted()
    return code


def _version() -> str:
    try:
        return importlib.metadata.version("mqops")
    except importlib.metadata.PackageNotFoundError:
        return "(not installed)"
