"""Signals and watchdogs: what ends a run from outside the code that plays it.

All of it arrives as an exception in the main thread, where Python runs signal handlers; blocking reads end for it too.
From the first one on the rollback is under way, and only a second Ctrl-C or its own deadline ends that.
"""

from __future__ import annotations

import math
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, NoReturn

from drills.engine.errors import Aborted, Left, UndoError

NAMES = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM", signal.SIGHUP: "the terminal was closed (SIGHUP)"}


@dataclass(frozen=True, order=True, slots=True)
class Deadline:
    """`at`: monotonic seconds; `told`: what is said when it passes."""

    at: float
    told: str


NEVER = Deadline(math.inf, "")


class Interruptions:
    """Use as a context manager, in the main thread, around a run. `reason`: what ended it; None: nothing did."""

    def __init__(self, say: Callable[[str], None] = lambda _: None) -> None:
        self.reason: str | None = None
        self.undoing = False
        self.left = False  # by a second Ctrl-C: no rollback may begin any more
        self._say = say
        self._from_thread = ""
        self._deadline: Deadline | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interruptions:
        handlers = dict.fromkeys(NAMES, self._asked) | {
            signal.SIGALRM: self._late,
            signal.SIGUSR1: self._stopped,
        }
        self._before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        return self

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def abort(self, reason: str) -> None:
        """Ends the run from another thread, such as that of the stop conditions."""
        self._from_thread = reason
        os.kill(os.getpid(), signal.SIGUSR1)

    @contextmanager
    def deadline(self, seconds: float, what: str) -> Iterator[None]:
        """A watchdog: when the block takes longer the run is aborted; while undoing, that one undo fails.

        One within another ends no later than that.
        """
        outer = self._deadline
        self._deadline = min(
            Deadline(time.monotonic() + seconds, f"watchdog: {what} took longer than {seconds:.0f} s"), outer or NEVER
        )
        self._set_timer()
        try:
            yield
        finally:
            self._deadline = outer
            self._set_timer()

    def _set_timer(self) -> None:
        """The alarm rings at the deadline there is. One that is past has rung already."""
        left = 0.0 if self._deadline is None else self._deadline.at - time.monotonic()
        signal.setitimer(signal.ITIMER_REAL, max(0.0, left))

    @contextmanager
    def rollback(self) -> Iterator[None]:
        """While the block runs nothing but a second Ctrl-C ends it; what came meanwhile ends the run afterwards."""
        already, self.undoing = self.undoing, True
        before = self.reason
        yield
        self.undoing = already
        if self.reason is not None and before is None:
            self.end(self.reason)

    def end(self, reason: str) -> NoReturn:
        """Ends the run now. Raises Aborted."""
        self.reason = self.reason or reason
        self.undoing = True
        raise Aborted(reason)

    def _asked(self, number: int, _: FrameType | None) -> None:
        name = NAMES[signal.Signals(number)]
        if not self.undoing:
            self.reason, self.undoing = self.reason or name, True  # before it is said: the next one is the second
            self._say(f"{name}: rolling back; press Ctrl-C again to leave it undone")
            self.end(name)
        if number == signal.SIGINT and self.reason is not None:
            self.left = True
            raise Left(name)
        self.reason = self.reason or name
        self._say(f"{name}: a rollback is under way; press Ctrl-C again to leave it undone")

    def _late(self, *_: object) -> None:
        told = "watchdog" if self._deadline is None else self._deadline.told
        if self.undoing:
            raise UndoError(told)
        self.end(told)

    def _stopped(self, *_: object) -> None:
        if self.undoing:
            self.reason = self.reason or self._from_thread
        else:
            self.end(self._from_thread)
