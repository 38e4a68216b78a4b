"""`mq-exporter`: parses the command line and runs the command."""

from __future__ import annotations

import sys

from exporter import cli
from exporter.commands import check_config, metrics_doc, once, serve

RUN = {"serve": serve.run, "once": once.run, "check-config": check_config.run, "metrics-doc": metrics_doc.run}


def main() -> int:
    """Run the command that the command line asks for; gives the exit code."""
    arguments = cli.parse(sys.argv[1:])
    return RUN[arguments.command](arguments)


if __name__ == "__main__":
    sys.exit(main())
