"""`mq-exporter check-config FILE`: every mistake at once."""

from __future__ import annotations

import argparse

from exporter.cli import OK, USAGE
from exporter.config.load import load
from exporter.config.mistakes import ConfigError
from exporter.status.units import counted


def run(arguments: argparse.Namespace) -> int:
    """0 when the file can be used, 2 when not."""
    try:
        config = load(arguments.file, check_files=not arguments.no_files)
    except ConfigError as error:
        print(error)
        print(f"{counted(len(error.mistakes), 'mistake')} in {arguments.file}")
        return USAGE
    clusters = [f"kafka/{one.cluster}" for one in config.kafka] + [f"rabbitmq/{one.cluster}" for one in config.rabbitmq]
    print(f"{arguments.file} is fine: {counted(len(clusters), 'cluster')} ({', '.join(clusters)})")
    return OK
