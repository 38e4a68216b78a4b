"""Named hooks: places at which a worker's handler stops, once, when the driver has asked for it there."""

from __future__ import annotations

import threading
from collections.abc import Callable

from drills.ledger import Ledger

BEFORE_DB_COMMIT = "BEFORE_DB_COMMIT"
AFTER_DB_COMMIT_BEFORE_ACK = "AFTER_DB_COMMIT_BEFORE_ACK"
AFTER_DEAD_LETTER_BEFORE_COMMIT = "AFTER_DEAD_LETTER_BEFORE_COMMIT"  # of Kafka's transaction; its event is the place
AFTER_QUARANTINE_BEFORE_ACK = "AFTER_QUARANTINE_BEFORE_ACK"  # its event is the place
AFTER_CONFIRM_BEFORE_LEDGER = "AFTER_CONFIRM_BEFORE_LEDGER"


class Hooks:
    """The hooks of one worker. A hook that is not armed has no effect; an armed one holds once.

    The thread that reaches it is held until `release`, or until the process is killed; other threads go on, so that
    the connection stays and heartbeats are answered. That it was reached is in the ledger before the driver is told.
    """

    def __init__(self, ledger: Ledger, case: str, worker: str, say: Callable[..., None]) -> None:
        self._ledger, self._case, self._worker, self._say = ledger, case, worker, say
        self._armed: set[tuple[str, str]] = set()
        self._released = threading.Event()

    def arm(self, hook: str, event_id: str) -> None:
        """The next time this event comes to this hook it is held."""
        self._armed.add((hook, event_id))

    def release(self) -> None:
        """What is held goes on."""
        self._released.set()

    def reach(self, hook: str, event_id: str) -> None:
        """Called by the worker at the hook; returns at once, or when released."""
        if (hook, event_id) not in self._armed:
            return
        self._armed.discard((hook, event_id))
        self._released.clear()
        number = self._ledger.hook_reached(self._case, self._worker, hook, event_id)
        self._say("hook", hook=hook, event_id=event_id)
        self._released.wait()
        self._ledger.hook_released(number)
