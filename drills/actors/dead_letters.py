"""A dead-letter topic of Kafka: the record that could not be read and the offset behind it, in one transaction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from drills.actors.contract import UnreadableError
from drills.business.handling import Event

OPEN = 60.0  # seconds until the coordinator has fenced whoever had the transactional ID before
SECONDS = 30.0  # for sending offsets, and for a commit
SOURCE, HASH, ERROR, REASON, FINGERPRINT = (
    "mq.source", "mq.payload.sha256", "mq.error.class", "mq.error.reason", "mq.schema.fingerprint",
)  # fmt: skip
"""The headers of a dead letter. Source: topic/partition/offset."""
OFFSET_APART = "offset_apart"  # named wrong design: the offset is committed first, by itself


class DeadLetters:
    """One transactional producer beside a consumer, whose group's offsets it commits."""

    def __init__(
        self, client: dict[str, Any], topic: str, transactional_id: str, consumer: Consumer, mutant: str | None
    ) -> None:
        settings = {"transactional.id": transactional_id, "allow.auto.create.topics": False, "log_level": 3}
        self._topic, self._consumer, self._mutant = topic, consumer, mutant
        self._producer = Producer({**client, **settings})
        self._producer.init_transactions(OPEN)

    def move(self, record: Any, place: str, error: UnreadableError, before_commit: Callable[[], None]) -> None:
        """Returns when both are committed. Raises KafkaException: then neither is, and the record comes again."""
        behind = [TopicPartition(record.topic(), record.partition(), record.offset() + 1)]
        if self._mutant == OFFSET_APART:
            self._consumer.commit(offsets=behind, asynchronous=False)
            before_commit()
        self._producer.begin_transaction()
        try:
            self._producer.produce(
                self._topic, record.value(), key=record.key(), headers=_headers(record, place, error)
            )
            if self._mutant != OFFSET_APART:
                self._producer.send_offsets_to_transaction(behind, self._consumer.consumer_group_metadata(), SECONDS)
            self._producer.flush(SECONDS)
            if self._mutant != OFFSET_APART:
                before_commit()
            self._producer.commit_transaction(SECONDS)
        except KafkaException as failure:
            if not failure.args[0].fatal():
                self._producer.abort_transaction(SECONDS)
            raise


def _headers(record: Any, place: str, error: UnreadableError) -> list[tuple[str, str | bytes]]:
    return [
        (SOURCE, place),
        (HASH, Event("", record.value() or b"", place).payload_hash),
        (ERROR, error.error_class),
        (REASON, error.reason),
        (FINGERPRINT, error.fingerprint),
    ]
