"""Progress for the person who waits: a live line on a terminal, plain lines in a pipe, nothing in a library."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Mapping
from typing import TextIO

QUIET = 10.0  # seconds between two waiting lines in a pipe


class Report:
    """Says nothing. What a library or a test gets unless it asks for more."""

    def say(self, text: str) -> None:
        """A line that stays."""

    def done(self, claim: str) -> None:
        """What was waited for is true."""

    def waiting(self, missing: Mapping[str, str], left: float) -> None:
        """What is waited for (claim -> what is missing) and the seconds left to the deadline."""


class Lines(Report):
    """Plain lines: one for each thing done, and one every ten seconds while something is awaited."""

    def __init__(self, out: TextIO) -> None:
        self.out = out
        self.begun = self.last = time.monotonic()

    def say(self, text: str) -> None:
        """A line that stays, with the seconds since the beginning."""
        self.last = time.monotonic()
        print(f"{self.last - self.begun:6.1f} s  {text}", file=self.out, flush=True)

    def done(self, claim: str) -> None:
        """One line for each claim that became true."""
        self.say(claim)

    def waiting(self, missing: Mapping[str, str], left: float) -> None:
        """A line when nothing was said for ten seconds."""
        if time.monotonic() - self.last >= QUIET:
            self.say(_still(missing, left))


class Live(Lines):
    """A terminal: lasting lines, and below them one line that is rewritten while something is awaited."""

    def say(self, text: str) -> None:
        """A line that stays, in place of the live one."""
        self.out.write("\r\x1b[K")
        super().say(text)

    def waiting(self, missing: Mapping[str, str], left: float) -> None:
        """The live line."""
        width = shutil.get_terminal_size().columns
        text = f"{time.monotonic() - self.begun:6.1f} s  {_still(missing, left)}"
        self.out.write("\r\x1b[K" + text[: width - 1])
        self.out.flush()


def report_to(out: TextIO = sys.stderr) -> Report:
    """The report that fits a stream: live on a terminal, lines elsewhere."""
    return Live(out) if out.isatty() else Lines(out)


def _still(missing: Mapping[str, str], left: float) -> str:
    """One claim with what it lacks, or the first words (the nodes) of several."""
    if len(missing) > 1:
        return f"waiting for {', '.join(claim.split()[0] for claim in missing)} ({left:.0f} s left)"
    (claim, lacks), *_ = missing.items()
    return f"waiting until {claim}: {lacks} ({left:.0f} s left)"
