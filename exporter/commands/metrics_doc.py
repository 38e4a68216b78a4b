"""`mq-exporter metrics-doc`: the reference pages, from the code."""

from __future__ import annotations

import argparse
import sys

from exporter import docs
from exporter.cli import OK


def run(arguments: argparse.Namespace) -> int:
    """Print or write the page."""
    page = docs.configuration() if arguments.configuration else docs.metrics()
    if arguments.write is None:
        sys.stdout.write(page)
    else:
        arguments.write.write_text(page, encoding="utf-8")
    return OK
