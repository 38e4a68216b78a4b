"""The command line of every page that is written from the tests."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path


def write_or_print(target: Path, page: Callable[[], str], arguments: list[str]) -> int:
    """Write the page to its file where `--write` is given, else print it. The exit code."""
    if arguments == ["--write"]:
        target.write_text(page())
    else:
        sys.stdout.write(page())
    return 0
