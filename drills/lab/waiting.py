"""Waiting for conditions, each with a deadline and with what was last seen."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from drills.lab.errors import LabTimeoutError
from drills.lab.report import Report

POLL = 0.2  # seconds between two looks

Lack = Callable[[], "str | None"]
"""A look at a condition: None when it is true, else what is still missing."""


def wait_all(lacks: Mapping[str, Lack], seconds: float, report: Report | None = None) -> None:
    """Returns when every claim (such as "kafka-1 serves") has been seen true once.

    Raises LabTimeoutError after `seconds`, with each claim that is not true and what was last seen. A look may raise to
    end the wait early.
    """
    report = report or Report()
    deadline = time.monotonic() + seconds
    waiting = dict(lacks)
    while True:
        seen: dict[str, str] = {}
        for claim, lack in waiting.items():
            missing = lack()
            if missing is None:
                report.done(claim)
            else:
                seen[claim] = missing
        waiting = {claim: waiting[claim] for claim in seen}
        left = deadline - time.monotonic()
        if not waiting:
            return
        if left <= 0:
            unmet = "; ".join(f"{claim} (seen: {missing})" for claim, missing in seen.items())
            raise LabTimeoutError(f"not true within {seconds:.0f} s: {unmet}")
        report.waiting(seen, left)
        time.sleep(min(POLL, left))


def wait_for(claim: str, lack: Lack, seconds: float, report: Report | None = None) -> None:
    """Returns when one claim is true; raises LabTimeoutError after `seconds`."""
    wait_all({claim: lack}, seconds, report)
