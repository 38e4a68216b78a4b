"""`mq-exporter metrics-doc`: the reference pages, from the code."""

from __future__ import annotations

import argparse
import sys

from exporter.cli import OK
from exporter.docs import configuration, metrics


def run(arguments: argparse.Namespace) -> int:
    """Print or write the page."""
    page = configuration() if arguments.configuration else metrics()
    if arguments.write is None:
        sys.stdout.write(page)
    else:
        arguments.write.write_text(page, encoding="utf-8")
    return OK
