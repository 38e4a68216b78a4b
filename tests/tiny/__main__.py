"""`mq-drill` with the tiny drill instead of the catalogue."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

from drills import checker
from drills.cli import main
from drills.engine import evidence
from drills.faults.file import File
from tests.tiny.catalog.tiny import Setting
from tests.tiny.orders import hold, order

CATALOG = "tests.tiny.catalog"


def held_evidence(write: Any) -> Any:
    """The evidence, once the test lets it be written."""

    def held(*arguments: Any) -> None:
        hold("", "evidence")
        write(*arguments)

    return held


def failing_undo(undo: Any) -> Any:
    """An undo that fails for the file that was told."""

    def failing(change: File, target: Any) -> None:
        if order("undo_fails", "") and change.path.endswith(order("undo_fails")):
            raise OSError("the test lets this undo fail")
        if order("hold", "") and change.path.endswith("setting"):
            hold("", "undo")
        undo(change, target)

    return failing


def blind(result: Any) -> Any:
    """A reconciliation that overlooks what was lost."""
    return lambda account: replace(result(account), lost=())


if __name__ == "__main__":
    if order("blind_checker", False):
        checker.reconcile = blind(checker.reconcile)  # type: ignore[attr-defined]
    Setting.phase_seconds = order("seconds", Setting.phase_seconds)
    evidence.write = held_evidence(evidence.write)
    File.undo = failing_undo(File.undo)  # type: ignore[method-assign]
    sys.exit(main(sys.argv[1:], catalog=CATALOG))
