"""A consumer of RabbitMQ: one handler thread, acks on the channel of the delivery, the business in one transaction.

Commands: start, stop. Events: ready, started, delivered, handled (with the outcome), acked, sentinel, lost, failed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

from drills.actors import messages
from drills.actors.hooks import AFTER_DB_COMMIT_BEFORE_ACK, BEFORE_DB_COMMIT, Hooks
from drills.actors.protocol import Driver
from drills.actors.rabbitmq_link import Link, LinkError
from drills.business.handling import Business, Event, Handled
from drills.ledger import Ledger

LOOK = 0.1  # seconds: how late a command may be noticed
# named wrong designs, for negative controls and for the proof of the drill
ACK_BEFORE_COMMIT = "ack_before_commit"
NO_INBOX = "no_inbox"
HASH_UNCHECKED = "hash_unchecked"
COMMIT_BEFORE_HOOK = "commit_before_hook"  # commits where the drill believes that it has not yet
REDELIVERY_HIDDEN = "redelivery_hidden"
SKIPS_ONE = "skips_one"  # acks the last of its events without applying it


@dataclass(frozen=True)
class Delivery:
    """One delivery, on the channel that it came on."""

    tag: int
    redelivered: bool
    count: int | None  # x-delivery-count, which quorum queues add from the second delivery on
    body: bytes


class Consumer:
    """Deliveries come in the I/O thread and are handled one by one in the main one."""

    def __init__(self, driver: Driver) -> None:
        options = driver.options
        self.driver = driver
        self.run, self.case, self.name = options["run"], options["case"], options["name"]
        self.queue: str = options["queue"]
        self.prefetch: int = options.get("prefetch", 1)
        self.mutant: str | None = options.get("mutant")
        self.victim: str | None = options.get("victim")
        self.ledger = Ledger(options["ledger_url"], self.run)
        has_inbox = self.mutant != NO_INBOX
        self.business = Business(
            options["business_url"], self.run, self.case, options["handler_id"], has_inbox=has_inbox
        )
        self.hooks = Hooks(self.ledger, self.case, self.name, driver.say)
        self.deliveries: SimpleQueue[Delivery | str] = SimpleQueue()
        self.link = Link(options, self.deliveries.put)

    def main(self) -> int:
        """Works until it is told to stop, or the channel is lost; the exit code."""
        self.driver.listen(self.hooks)
        try:
            self.link.open()
        except LinkError as error:
            self.driver.say("failed", reason=str(error))
            return 1
        self.driver.say("ready")
        while True:
            try:
                if self.driver.commands.get_nowait()["do"] == "stop":
                    break
                self.link.call(self._consume)
                self.driver.say("started")
            except Empty:
                pass
            if not self._handle_next():
                return 1
        self.link.close()
        return 0

    def _consume(self) -> None:
        """In the I/O thread."""
        self.link.channel.basic_qos(prefetch_count=self.prefetch)
        self.link.channel.basic_consume(self.queue, self._delivered, auto_ack=False, consumer_tag=self.name)

    def _delivered(self, _channel: Any, method: Any, properties: Any, body: bytes) -> None:
        """In the I/O thread."""
        count = (properties.headers or {}).get("x-delivery-count")
        self.deliveries.put(Delivery(method.delivery_tag, method.redelivered, count, body))

    def _handle_next(self) -> bool:
        """Waits a moment for one delivery and handles it; False when the channel is lost."""
        try:
            delivery = self.deliveries.get(timeout=LOOK)
        except Empty:
            return True
        if isinstance(delivery, str):
            self.driver.say("lost", reason=delivery)
            return False
        self._handle(delivery)
        return True

    def _handle(self, delivery: Delivery) -> None:
        try:
            fields = messages.read(delivery.body)
        except ValueError as error:
            self.business.set_aside(Event("", delivery.body, self.queue), f"not a message: {error}")
            self._ack(delivery, "")
            return
        event = Event(messages.account_id(fields, self.run, self.case), delivery.body, self.queue)
        if messages.is_sentinel(fields["event_id"]):
            self._ack(delivery, event.event_id)
            self.driver.say("sentinel", event_id=event.event_id)
            return
        self._note(delivery, event)
        if self.mutant == ACK_BEFORE_COMMIT:
            self._apply(event, fields["amount"], before_commit=lambda: self._ack(delivery, event.event_id))
            self.hooks.reach(AFTER_DB_COMMIT_BEFORE_ACK, event.event_id)
        elif self.mutant == SKIPS_ONE and event.event_id == self.victim:
            self._ack(delivery, event.event_id)
        else:
            self._apply(event, fields["amount"])
            self.hooks.reach(AFTER_DB_COMMIT_BEFORE_ACK, event.event_id)
            self._ack(delivery, event.event_id)

    def _note(self, delivery: Delivery, event: Event) -> None:
        redelivered = delivery.redelivered and self.mutant != REDELIVERY_HIDDEN
        detail = {"delivery_tag": delivery.tag, "delivery_count": delivery.count, "payload_hash": event.payload_hash}
        self.ledger.delivered(self.case, event.event_id, self.name, self.queue, redelivered=redelivered, **detail)
        self.driver.say("delivered", event_id=event.event_id, redelivered=redelivered)

    def _apply(self, event: Event, amount: int, before_commit: Callable[[], None] = lambda: None) -> None:
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

    def _ack(self, delivery: Delivery, event_id: str) -> None:
        """On the channel that it came on, and no other."""
        self.link.call(lambda: self.link.channel.basic_ack(delivery.tag))
        self.driver.say("acked", event_id=event_id)


if __name__ == "__main__":
    sys.exit(Consumer(Driver()).main())
