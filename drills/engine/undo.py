"""Changes made, proven and put back. The ledger has each of them before it is made."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from drills.engine.errors import UndoError
from drills.engine.screen import Screen
from drills.faults.change import Change, rebuilt
from drills.lab.waiting import wait_for
from drills.ledger import Ledger, clock
from drills.targets.target import Target

UNDO = 300.0  # seconds for one undo; a node that comes back has 180 of its own
VERIFIED = 60.0  # seconds until the world must be seen as before

Watchdog = Callable[[float, str], AbstractContextManager[None]]
Guard = Callable[[str, Change], None]


def _no_watchdog(_: float, __: str) -> AbstractContextManager[None]:
    return nullcontext()


class Changes:
    """The changes of one run. `guard(case, change)` raises Refused for one that may not be made."""

    def __init__(
        self,
        target: Target,
        ledger: Ledger,
        screen: Screen,
        guard: Guard = lambda _, __: None,
        watchdog: Watchdog = _no_watchdog,
    ) -> None:
        self._target = target
        self._ledger = ledger
        self._screen = screen
        self._guard = guard
        self._watchdog = watchdog
        self.standing: dict[int, tuple[str, Change]] = {}  # kept here too: the ledger may not be readable any more

    @classmethod
    def of_ledger(cls, target: Target, ledger: Ledger, screen: Screen, watchdog: Watchdog = _no_watchdog) -> Changes:
        """What another driver left standing. Raises LookupError for a change that this version does not know."""
        found = cls(target, ledger, screen, watchdog=watchdog)
        for row in ledger.standing_changes():
            found.standing[row["number"]] = (row["case"], rebuilt(row["kind"], row["arguments"]))
        return found

    def make(self, case: str, change: Change) -> int:
        """Makes a change that is noted before; its number."""
        self._guard(case, change)
        change = change.prepared(self._target)
        number = self._ledger.plan_change(case, change.kind(), change.arguments(), change.is_fault)
        self.standing[number] = (case, change)
        self._note(case, change.says(), number, "begun")
        self._say(case, change.says())
        change.make(self._target)
        self._ledger.change(number, made=clock.now())
        self._note(case, f"{change.says()}: made", number, "made")
        return number

    def bite(self, number: int, seconds: float) -> dict[str, Any]:
        """The proof that a change took effect, noted. Raises LabTimeoutError when there is none in time."""
        case, change = self.standing[number]
        proof: dict[str, Any] = {}

        def lack() -> str | None:
            found = change.bite(self._target)
            proof.update(found or {})
            return "no proof yet" if found is None else None

        wait_for(f"it is proven that `{change.says()}` took effect", lack, seconds, self._screen.report())
        self._ledger.change(number, bite=proof, bitten=clock.now())
        self._note(case, f"{change.says()}: proven", number, "bitten", proof=proof)
        self._say(case, f"{change.says()}: proven: {proof}")
        return proof

    def undo(self, number: int) -> None:
        """Puts a change back and verifies it; nothing when it was. Raises UndoError."""
        if number not in self.standing:
            return
        case, change = self.standing[number]
        begun = time.monotonic()
        try:
            with self._watchdog(UNDO, f"`{change.undo_says()}`"):
                change.undo(self._target)
                self._verify(change)
        except Exception as error:
            self._record(number, undo_error=str(error))
            raise UndoError(f"`{change.undo_says()}` failed: {error}") from error
        del self.standing[number]
        self._record(number, undone=clock.now(), undo_error=None)
        if change.undo_says():
            self._record_note(case, f"{change.undo_says()}: done in {time.monotonic() - begun:.1f} s", number)

    def undo_all(self, case: str | None = None) -> list[str]:
        """Puts everything back (of one case, when given), the last first; what failed. A failure stops nothing."""
        failed = []
        for number in sorted(self.standing, reverse=True):
            if case is None or self.standing[number][0] == case:
                try:
                    self.undo(number)
                except UndoError as error:
                    failed.append(str(error))
                    self._screen.loud(f"ROLLBACK FAILED: {error}")
        return failed

    def left(self) -> list[str]:
        """What stands, for a person, in the order in which it is to be undone."""
        told = [self.standing[number][1].undo_says() for number in sorted(self.standing, reverse=True)]
        return [line for line in told if line]

    def _verify(self, change: Change) -> None:
        claim = f"`{change.undo_says()}` is seen to be true"
        wait_for(claim, lambda: change.undone(self._target), VERIFIED, self._screen.report())

    def _note(self, case: str, text: str, number: int, state: str, **more: Any) -> None:
        self._ledger.note("change", text, case, number=number, state=state, **more)

    def _say(self, case: str, text: str) -> None:
        self._screen.line(f"{case}: {text}" if case else text)

    def _record_note(self, case: str, text: str, number: int) -> None:
        self._say(case, text)
        try:
            self._ledger.note("recovery", text, case, number=number, state="undone")
        except (SQLAlchemyError, OSError) as error:
            self._screen.line(f"this could not be noted: {first_line(error)}")

    def _record(self, number: int, **values: Any) -> None:
        """Notes what became of an undo; when there is no room to note it the undo goes on all the same."""
        try:
            self._ledger.change(number, **values)
        except (SQLAlchemyError, OSError) as error:
            self._screen.line(f"the ledger can't take note of change {number}: {first_line(error)}")


def first_line(error: BaseException) -> str:
    """What an error says, without the SQL that SQLAlchemy puts below it."""
    return (str(error) or type(error).__name__).splitlines()[0]
