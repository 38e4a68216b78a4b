"""The RabbitMQ half: a quorum queue with ready and held messages, and a poison that its broker dead-letters."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence

import pika
from pika.adapters.blocking_connection import BlockingChannel, BlockingConnection
from pika.exceptions import AMQPError

from drills.demo.ledger import Ledger

WORK, DEAD, EXCHANGE = "demo.invoices", "demo.invoices.dead", "demo.dlx"
MESSAGES, ACKED, HELD, POISON = 20, 12, 3, 5


class RabbitWork:
    """Does the work once; the held messages stay unacknowledged until `close`."""

    def __init__(self, host: str, ports: Sequence[int], ledger: Ledger) -> None:
        self.ledger = ledger
        self._nodes = [pika.ConnectionParameters(host, port) for port in ports]
        self._connect()

    def _connect(self) -> None:
        """The first node that answers. Raises AMQPError when none does."""
        self._connection: BlockingConnection = pika.BlockingConnection(self._nodes)
        self._channel: BlockingChannel = self._connection.channel()

    def run(self) -> None:
        """Declare, publish with confirms, then acknowledge, reject and hold."""
        self._declare()
        self._publish()
        self._consume()

    def _declare(self) -> None:
        quorum = {"x-queue-type": "quorum"}
        self._channel.exchange_declare(EXCHANGE, "direct", durable=True)
        self._channel.queue_declare(DEAD, durable=True, arguments=quorum)
        self._channel.queue_bind(DEAD, EXCHANGE, "invoices")
        letters = {"x-dead-letter-exchange": EXCHANGE, "x-dead-letter-routing-key": "invoices"}
        self._channel.queue_declare(WORK, durable=True, arguments=quorum | letters)

    def _publish(self) -> None:
        channel = self._connection.channel()
        channel.confirm_delivery()
        for number in range(MESSAGES):
            body = b"\xff not an invoice" if number == POISON else b'{"amountMinor": 100}'
            properties = pika.BasicProperties(message_id=f"I{number:03}", delivery_mode=2)
            began = time.time()
            channel.basic_publish("", WORK, body, properties, mandatory=True)  # raises when returned or nacked
            self.ledger.rabbitmq_published.append(began)
        channel.close()

    def _consume(self) -> None:
        self._channel.basic_qos(prefetch_count=HELD)
        for method, _, body in self._channel.consume(WORK, inactivity_timeout=30):
            if method is None:
                raise TimeoutError("no message within 30 s")
            if body.startswith(b"\xff"):
                self.ledger.rabbitmq_rejected_at = time.time()
                self._channel.basic_reject(method.delivery_tag, requeue=False)
                self.ledger.rabbitmq_rejected += 1
            elif self.ledger.rabbitmq_acked < ACKED:
                self._channel.basic_ack(method.delivery_tag)
                self.ledger.rabbitmq_acked += 1
            else:
                self.ledger.rabbitmq_held += 1
            if self.ledger.rabbitmq_held == HELD:
                return

    def hold(self) -> None:
        """Answer heartbeats; the demo calls it while it waits. What a stopped node gave back is held again."""
        try:
            self._connection.process_data_events(0)
        except AMQPError:
            with contextlib.suppress(AMQPError):  # no node yet: the next call tries again
                self._connect()
                self._channel.basic_qos(prefetch_count=HELD)
                self._channel.basic_consume(WORK, lambda *_: None)

    def close(self) -> None:
        """End the connection; the held messages go back to the queue."""
        with contextlib.suppress(AMQPError):  # it went with its node
            self._connection.close()
