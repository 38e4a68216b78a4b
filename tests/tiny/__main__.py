"""`mq-drill` with the drills of the tests instead of the catalogue, broken as `$TINY` says."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from drills import checker
from drills.cli import main
from drills.engine import evidence, undo
from drills.faults.file import File
from tests.mutations import MUTATIONS
from tests.tiny.catalog.tiny import Setting
from tests.tiny.orders import hold, order

CATALOG = "tests.tiny.catalog"


def held_evidence(write: Any) -> Any:
    """The evidence, once the test lets it be written."""

    def held(*arguments: Any) -> None:
        hold("", "evidence")
        write(*arguments)

    return held


def held_make(make: Callable[[File, Any], None]) -> Callable[[File, Any], None]:
    """The change, which the test may let stand there before it is noted as made."""

    def held(change: File, target: Any) -> None:
        make(change, target)
        if change.path.endswith("setting-setting"):
            hold("", "make")

    return held


def broken_undo(undo: Callable[[File, Any], None]) -> Callable[[File, Any], None]:
    """An undo that is held, that fails, or that does nothing, for the file that was told."""

    def broken(change: File, target: Any) -> None:
        if change.path.endswith(order("undo_fails", "no file")):
            raise OSError("the test lets this undo fail")
        if change.path.endswith("setting-setting"):
            hold("", "undo")
        if not change.path.endswith(order("undo_does_nothing", "no file")):
            undo(change, target)

    return broken


def blind(result: Any) -> Any:
    """A reconciliation that overlooks what was lost."""
    return lambda account: replace(result(account), lost=())


if __name__ == "__main__":
    evidence.write = held_evidence(evidence.write)
    File.make = held_make(File.make)  # type: ignore[method-assign]
    File.undo = broken_undo(File.undo)  # type: ignore[method-assign]
    undo.VERIFIED = order("verified", undo.VERIFIED)
    Setting.phase_seconds = order("seconds", Setting.phase_seconds)
    if order("blind_checker", False):
        checker.reconcile = blind(checker.reconcile)  # type: ignore[attr-defined]
    mutation = MUTATIONS[order("mutate")]() if order("mutate", None) else nullcontext()
    with mutation:
        code = main(sys.argv[1:], catalog=CATALOG)
    sys.exit(code)
