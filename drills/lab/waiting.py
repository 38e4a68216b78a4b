"""Waiting for conditions, each with a deadline and with what was last seen."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from drills.lab.errors import LabTimeoutError
from drills.lab.report import Report

POLL = 0.1  # seconds between two looks

Lack = Callable[[], "str | None"]
"""A look at a condition: None when it is true, else what is still missing."""


def wait_all(lacks: Mapping[str, Lack], seconds: float, report: Report | None = None) -> None:
    """Returns when every condition has been seen true once.

    Raises LabTimeoutError after `seconds`, naming each condition that is not and what it last said. A condition may
    raise to end the wait early.
    """
    report = report or Report()
    deadline = time.monotonic() + seconds
    waiting = dict(lacks)
    while True:
        seen: dict[str, str] = {}
        for name, lack in waiting.items():
            missing = lack()
            if missing is None:
                report.ready(name)
            else:
                seen[name] = missing
        waiting = {name: waiting[name] for name in seen}
        left = deadline - time.monotonic()
        if not waiting:
            return
        if left <= 0:
            raise LabTimeoutError(f"after {seconds:.0f} s still waiting: {describe(seen)}")
        report.waiting(seen, left)
        time.sleep(min(POLL, left))


def wait_for(what: str, lack: Lack, seconds: float) -> None:
    """Returns when one condition is true; raises LabTimeoutError after `seconds`."""
    wait_all({what: lack}, seconds)


def describe(seen: Mapping[str, str]) -> str:
    """The conditions still missing, on one line."""
    return "; ".join(f"{name}: {missing}" for name, missing in seen.items())
