"""A consumer of RabbitMQ: one handler thread, acks on the channel of the delivery, the business in one transaction.

Commands: start, stop. Events: ready, started, delivered, handled (with the outcome), acked, set_aside,
sentinel, lost, failed.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

from drills.actors import messages
from drills.actors.consuming import Consuming
from drills.actors.contract import UnreadableError
from drills.actors.hooks import AFTER_DB_COMMIT_BEFORE_ACK, AFTER_QUARANTINE_BEFORE_ACK
from drills.actors.protocol import Driver
from drills.actors.rabbitmq_link import Link, LinkError
from drills.business.handling import Event

LOOK = 0.1  # seconds: how late a command may be noticed
# named wrong designs, for negative controls and for the proof of the drill, beside those of `consuming`
ACK_BEFORE_COMMIT = "ack_before_commit"
REDELIVERY_HIDDEN = "redelivery_hidden"
ACKS_POISON_FIRST = "acks_poison_first"  # before it is in quarantine


@dataclass(frozen=True)
class Delivery:
    """One delivery, on the channel that it came on."""

    tag: int
    redelivered: bool
    count: int | None  # x-delivery-count, which quorum queues add from the second delivery on
    message_id: str  # "" when the publisher gave none
    body: bytes


class Consumer(Consuming):
    """Deliveries come in the I/O thread and are handled one by one in the main one."""

    def __init__(self, driver: Driver) -> None:
        super().__init__(driver)
        options = driver.options
        self.queue: str = options["queue"]
        self.prefetch: int = options.get("prefetch", 1)
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
        self.driver.say("ready", reader=self.reader)
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
        name = properties.message_id or ""
        self.deliveries.put(Delivery(method.delivery_tag, method.redelivered, count, name, body))

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
            event, amount = self.read(delivery.body, self.queue)
        except UnreadableError as error:
            self._put_away(delivery, error)
            return
        if messages.is_sentinel(event.event_id):
            self._ack(delivery, event.event_id)
            self.driver.say("sentinel", event_id=event.event_id)
            return
        self._note(delivery, event)
        if self.mutant == ACK_BEFORE_COMMIT:
            self.apply(event, amount, before_commit=lambda: self._ack(delivery, event.event_id))
            self.hooks.reach(AFTER_DB_COMMIT_BEFORE_ACK, event.event_id)
        elif self.skips(event):
            self._ack(delivery, event.event_id)
        else:
            self.apply(event, amount)
            self.hooks.reach(AFTER_DB_COMMIT_BEFORE_ACK, event.event_id)
            self._ack(delivery, event.event_id)

    def _put_away(self, delivery: Delivery, error: UnreadableError) -> None:
        """Into quarantine, and only then acked."""
        place = f"{self.queue}/{delivery.message_id}"
        if self.mutant == ACKS_POISON_FIRST:
            self._ack(delivery, "")
            self.hooks.reach(AFTER_QUARANTINE_BEFORE_ACK, place)
            self.set_aside(delivery.body, place, error)
            return
        self.set_aside(delivery.body, place, error)
        self.hooks.reach(AFTER_QUARANTINE_BEFORE_ACK, place)
        self._ack(delivery, "")

    def _note(self, delivery: Delivery, event: Event) -> None:
        redelivered = delivery.redelivered and self.mutant != REDELIVERY_HIDDEN
        detail = {"delivery_tag": delivery.tag, "delivery_count": delivery.count, "payload_hash": event.payload_hash}
        self.ledger.delivered(self.case, event.event_id, self.name, self.queue, redelivered=redelivered, **detail)
        self.driver.say("delivered", event_id=event.event_id, redelivered=redelivered)

    def _ack(self, delivery: Delivery, event_id: str) -> None:
        """On the channel that it came on, and no other."""
        self.link.call(lambda: self.link.channel.basic_ack(delivery.tag))
        self.driver.say("acked", event_id=event_id)


if __name__ == "__main__":
    sys.exit(Consumer(Driver()).main())
