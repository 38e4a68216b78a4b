"""What all publishers share: PENDING before each send, one outcome an attempt, and what is sent again."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from queue import Empty
from typing import Any

from drills.actors.hooks import Hooks
from drills.actors.messages import Message, is_sentinel
from drills.actors.protocol import Driver
from drills.ledger import Ledger
from drills.model.publish import Outcome, to_retry

# named wrong designs, for the proof of the drills
CONFIRMED_BEFORE_CONFIRM = "confirmed_before_confirm"
RETRY_SKIPS_ONE = "retry_skips_one"


@dataclass
class Open:
    """An attempt whose outcome is not known yet, or that is unknown and may still be answered. Sentinels have 0."""

    event_id: str
    number: int
    deadline: float
    returned: dict[str, Any] | None = None  # how a broker gave it back that can't place it
    settled: bool = False


class Publishing:
    """One publisher's side of the ledger. The thread that settles is the one that a hook may hold."""

    def __init__(self, driver: Driver) -> None:
        options = driver.options
        self.driver = driver
        self.run, self.case, self.name = options["run"], options["case"], options["name"]
        self.mutant: str | None = options.get("mutant")
        self.writer: int = options.get("writer", 0)  # the version of the contract that it writes; 0: none
        self.ledger = Ledger(options["ledger_url"], self.run)
        self.hooks = Hooks(self.ledger, self.case, self.name, driver.say)

    def command(self) -> Any:
        """The next command of the driver; None when there is none."""
        try:
            return self.driver.commands.get_nowait()
        except Empty:
            return None

    def attempt(self, event: Message, seconds: float) -> Open:
        """A new attempt, PENDING in the ledger when this returns; to be called before the send."""
        number = self.ledger.attempt(self.case, event.event_id, self.name)
        return Open(event.event_id, number, time.monotonic() + seconds)

    def to_retry(self, events: Sequence[Message]) -> list[Message]:
        """Those of the events whose outcome is unknown in the ledger; the decision is noted before the attempt."""
        open_ones = to_retry(self.ledger.attempts(self.case))
        unknown = [event for event in events if event.event_id in open_ones]
        if self.mutant == RETRY_SKIPS_ONE:
            unknown = unknown[:-1]
        for event in unknown:
            self.ledger.decide(self.case, event.event_id, "retry", by=self.name)
        self.driver.say("retrying", ids=[event.event_id for event in unknown])
        return unknown

    def sent(self, attempt: Open) -> None:
        """Called after each send: where the wrong design calls it confirmed."""
        if self.mutant == CONFIRMED_BEFORE_CONFIRM and not is_sentinel(attempt.event_id):
            self.settle(attempt, Outcome.CONFIRMED)

    def expire(self, attempts: Iterable[Open]) -> None:
        """What is past its deadline is unknown; it stays open, as a late answer makes it known."""
        now = time.monotonic()
        for attempt in attempts:
            if not attempt.settled and now > attempt.deadline:
                self.settle(attempt, Outcome.UNKNOWN, reason="no answer before the deadline")

    def settle(self, attempt: Open, outcome: Outcome, **detail: Any) -> None:
        """Writes the outcome of an attempt, then tells it."""
        if self.mutant == CONFIRMED_BEFORE_CONFIRM and attempt.settled:
            return  # what it has once marked stays
        attempt.settled = True
        if is_sentinel(attempt.event_id):
            self.driver.say("sentinel_" + outcome.value, event_id=attempt.event_id)
            return
        self.ledger.settle(self.case, attempt.event_id, attempt.number, outcome, **detail)
        fields = {"event_id": attempt.event_id, "number": attempt.number, "outcome": outcome.value}
        self.driver.say("outcome", **fields, **detail)
