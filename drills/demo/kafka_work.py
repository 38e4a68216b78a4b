"""The Kafka half: a hot partition with a held consumer, a poison in a dead-letter topic, an open transaction."""

from __future__ import annotations

import threading

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from drills.demo.ledger import Ledger

ORDERS, DEAD, PAYMENTS = "demo.orders", "demo.orders.dlq", "demo.payments"
GROUP = "demo-billing"
RECORDS = {0: 216, 1: 72, 2: 72}  # one hot account on partition 0
HELD_AT = 16  # the consumer stops before this offset of partition 0
POISON_AT = 30  # offset on partition 1
IN_TRANSACTION = 5
DEADLINE = 60.0


class KafkaWork:
    """Does the work once; the held consumer and the open transaction stay until `close`."""

    def __init__(self, bootstrap: str, ledger: Ledger) -> None:
        self.bootstrap = bootstrap
        self.ledger = ledger
        self._stop = threading.Event()
        self._held = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._consume, name="demo-billing", daemon=True)
        self._transaction = Producer(
            self._client(**{"transactional.id": "demo-payments", "transaction.timeout.ms": 600_000})
        )

    def _client(self, **extra: object) -> dict[str, object]:
        return {"bootstrap.servers": self.bootstrap, "allow.auto.create.topics": False, "log_level": 3, **extra}

    def run(self) -> None:
        """Create, produce, consume up to the hold, open the transaction; returns when all of that is confirmed."""
        self._create()
        self._produce()
        self._open_transaction()
        self._thread.start()
        if not self._held.wait(DEADLINE):
            raise TimeoutError(f"the consumer had not committed all but its held part after {DEADLINE:.0f} s")
        if self._failure is not None:
            raise self._failure

    def _create(self) -> None:
        admin = AdminClient(self._client())
        topics = [NewTopic(ORDERS, 3, 3), NewTopic(DEAD, 1, 3), NewTopic(PAYMENTS, 1, 3)]
        for future in admin.create_topics(topics, operation_timeout=30).values():
            future.result()

    def _produce(self) -> None:
        producer = Producer(self._client(acks="all"))
        times: dict[int, dict[int, float]] = {partition: {} for partition in RECORDS}

        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                raise KafkaException(error)
            times[message.partition()][message.offset()] = message.timestamp()[1] / 1000

        for partition, count in RECORDS.items():
            for number in range(count):
                poison = partition == 1 and number == POISON_AT
                value = b"\xff not an order" if poison else b'{"amountMinor": 100}'
                producer.produce(ORDERS, value, key=f"account-{partition:04}", partition=partition, callback=delivered)
        if producer.flush(DEADLINE):
            raise TimeoutError("not every record was confirmed")
        self.ledger.kafka_written = {
            partition: [found[offset] for offset in sorted(found)] for partition, found in times.items()
        }

    def _open_transaction(self) -> None:
        self._transaction.init_transactions(DEADLINE)
        self._transaction.begin_transaction()
        times: list[float] = []
        for _ in range(IN_TRANSACTION):
            self._transaction.produce(
                PAYMENTS, b'{"value": 1}', callback=lambda _, message: times.append(message.timestamp()[1] / 1000)
            )
        self._transaction.flush(DEADLINE)
        self.ledger.transaction_records, self.ledger.transaction_began = len(times), min(times)

    def _consume(self) -> None:
        consumer = Consumer(
            self._client(**{"group.id": GROUP, "enable.auto.commit": False, "auto.offset.reset": "earliest"})
        )
        dead = Producer(self._client(acks="all"))
        consumer.subscribe([ORDERS])
        try:
            while not self._stop.is_set():
                for message in consumer.consume(50, 0.2):
                    self._handle(consumer, dead, message)
        except BaseException as error:  # noqa: BLE001 - raised again by `run`, in the thread that waits
            self._failure = error
            self._held.set()
        finally:
            consumer.close()

    def _handle(self, consumer: Consumer, dead: Producer, message: Message) -> None:
        if message.error() is not None:
            raise KafkaException(message.error())
        partition, offset = message.partition(), message.offset()
        if partition == 0 and offset >= HELD_AT:
            consumer.pause([TopicPartition(ORDERS, 0)])
        else:
            if message.value().startswith(b"\xff"):
                self._bury(dead, message)
            consumer.commit(offsets=[TopicPartition(ORDERS, partition, offset + 1)], asynchronous=False)
            self.ledger.kafka_committed[partition] = offset + 1
        if self.ledger.kafka_committed == {**RECORDS, 0: HELD_AT}:
            self._held.set()

    def _bury(self, dead: Producer, message: Message) -> None:
        dead.produce(
            DEAD, message.value(), key=message.key(),
            callback=lambda _, written: self.ledger.kafka_dead.append(written.timestamp()[1] / 1000),
        )  # fmt: skip
        if dead.flush(DEADLINE):
            raise TimeoutError("the dead letter was not confirmed")

    def close(self) -> None:
        """End the consumer and abort the transaction."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(DEADLINE)
        self._transaction.abort_transaction(DEADLINE)
