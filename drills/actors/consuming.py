"""What all consumers share: what came is read, and the business is done in one transaction, once an event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from drills.actors import contract, messages
from drills.actors.contract import UnreadableError
from drills.actors.hooks import BEFORE_DB_COMMIT, Hooks
from drills.actors.protocol import Driver
from drills.business.handling import Business, Event, Handled
from drills.ledger import Ledger

# named wrong designs, for negative controls and for the proof of the drills
NO_INBOX = "no_inbox"
HASH_UNCHECKED = "hash_unchecked"
COMMIT_BEFORE_HOOK = "commit_before_hook"  # commits where the drill believes that it has not yet
SKIPS_ONE = "skips_one"  # says of its victim that it is done, without applying it


class Consuming:
    """One consumer's side of ledger and business. `victim`: the event that its wrong design concerns."""

    def __init__(self, driver: Driver) -> None:
        options = driver.options
        self.driver = driver
        self.run, self.case, self.name = options["run"], options["case"], options["name"]
        self.mutant: str | None = options.get("mutant")
        self.victim: str | None = options.get("victim")
        self.reader: int = options.get("reader", 0)  # the version of the contract that it reads; 0: none
        self.ledger = Ledger(options["ledger_url"], self.run)
        has_inbox = self.mutant != NO_INBOX
        self.business = Business(
            options["business_url"], self.run, self.case, options["handler_id"], has_inbox=has_inbox
        )
        self.hooks = Hooks(self.ledger, self.case, self.name, driver.say)

    def read(self, body: bytes, place: str) -> tuple[Event, int]:
        """The event of what came and its amount. Raises UnreadableError: it is to be set aside, with these bytes."""
        found = contract.read(body, self.reader, self.mutant) if self.reader else messages.read(body)
        name = messages.account_id((found.run, found.case, found.event_id), self.run, self.case)
        return Event(name, body, place, found.fields), found.amount

    def set_aside(self, body: bytes, place: str, error: UnreadableError) -> None:
        """Puts what could not be read into quarantine; durable when it returns."""
        name = "" if error.named is None else messages.account_id(error.named, self.run, self.case)
        self.business.set_aside(
            Event(name, body, place), str(error), error_class=error.error_class, fingerprint=error.fingerprint
        )
        self.driver.say("set_aside", place=place, error_class=error.error_class)

    def skips(self, event: Event) -> bool:
        """Whether the wrong design leaves this one undone."""
        return self.mutant == SKIPS_ONE and event.event_id == self.victim

    def apply(self, event: Event, amount: int, before_commit: Callable[[], Any] = lambda: None) -> None:
        """The marker and the business in one transaction; a conflict changes nothing and goes into quarantine."""
        with self.business.transaction() as connection:
            handled = self.business.handle(connection, event, self.name, amount)
            before_commit()
            if self.mutant != COMMIT_BEFORE_HOOK:
                self.hooks.reach(BEFORE_DB_COMMIT, event.event_id)
        if self.mutant == COMMIT_BEFORE_HOOK:
            self.hooks.reach(BEFORE_DB_COMMIT, event.event_id)
        if handled is Handled.CONFLICT and self.mutant != HASH_UNCHECKED:
            self.business.set_aside(event, "the same ID came before with another payload")
        self.driver.say("handled", event_id=event.event_id, outcome=handled.value)
