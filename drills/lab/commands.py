"""Commands that take long, run with a deadline and with their last words shown while they work."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import IO

from drills.lab.report import Report
from drills.lab.waiting import wait_for

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
LINE = 70  # characters of the last line that are shown


class _Waiting(Report):
    """Shows the waiting and keeps quiet about its end, which may be a failure."""

    def __init__(self, report: Report) -> None:
        self.report = report

    def waiting(self, missing: Mapping[str, str], left: float) -> None:
        """Hands it on."""
        self.report.waiting(missing, left)


def run(
    command: Sequence[str],
    claim: str,
    seconds: float,
    report: Report,
    seen: Callable[[], str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> tuple[int, str]:
    """Exit code and output of a command; meanwhile the report shows what is `seen`, or the last line of the output.

    `claim` is what will be true at its end, such as "apt-get is done". Raises LabTimeoutError after `seconds`, and the
    command is then killed; raises OSError when there is no such program.
    """
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(
            command, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=environment
        )
        look = seen or (lambda: _last_line(out))
        try:
            wait_for(claim, lambda: look() if child.poll() is None else None, seconds, _Waiting(report))
        finally:
            child.kill()
            child.wait()
        out.seek(0)
        return child.returncode, out.read().decode(errors="replace")


def _last_line(out: IO[bytes]) -> str:
    """The end of a file that another process writes through the same description: read without moving its place."""
    size = os.fstat(out.fileno()).st_size
    lines = os.pread(out.fileno(), 2000, max(0, size - 2000)).decode(errors="replace").split("\n")
    plain = [COLOUR.sub("", line).removeprefix("[INFO] ").strip() for line in lines]
    return next((line[:LINE] for line in reversed(plain) if line), "begun")
