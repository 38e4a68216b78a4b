"""A producer to Kafka: PENDING in the ledger before each send, delivery reports, and its own deadline.

Commands: produce (events, seconds), retry (events, seconds), metadata (partitions, seconds), sentinel (event_id,
partition), stop. Events: ready, outcome, settled (all attempts of a command have an outcome), retrying, metadata,
sentinel_confirmed, failed.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer

from drills.actors.hooks import AFTER_CONFIRM_BEFORE_LEDGER
from drills.actors.messages import Message
from drills.actors.partitioner import account_of, partition_of
from drills.actors.protocol import Driver
from drills.actors.publishing import Open, Publishing
from drills.model.publish import Outcome

LOOK = 0.1  # seconds: how late a command or a report may be noticed
OPEN = 30.0  # seconds until the topic's metadata is there
REFUSED = (KafkaError.NOT_ENOUGH_REPLICAS, KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.TOPIC_AUTHORIZATION_FAILED,
           KafkaError._PURGE_QUEUE, KafkaError._QUEUE_FULL, KafkaError._UNKNOWN_PARTITION)  # fmt: skip
"""Errors that say "not taken". As an earlier try of the same message may have been, they settle nothing for certain."""

# named wrong designs, for the proof of the drill, beside those of `publishing`
DEFAULT_PARTITIONER = "default_partitioner"  # the client's own, and not the fixture's
ACKS_ONE = "acks_one"  # the leader alone is asked


class KafkaPublisher(Publishing):
    """Sends and takes reports in one thread; a hook holds that thread, and librdkafka's own go on."""

    def __init__(self, driver: Driver) -> None:
        super().__init__(driver)
        options = driver.options
        self.topic: str = options["topic"]
        self.open: list[Open] = []
        self.partitions = 0
        self.client = Producer(
            {
                **options["client"],
                "acks": 1 if self.mutant == ACKS_ONE else "all",
                "allow.auto.create.topics": False,
                "topic.metadata.refresh.interval.ms": 1000,
                "linger.ms": 5,
                "log_level": 3,
                **options.get("settings", {}),
                **({"enable.idempotence": False} if self.mutant == ACKS_ONE else {}),
            }
        )

    def main(self) -> int:
        """Works until it is told to stop; the exit code."""
        self.driver.listen(self.hooks)
        if not self._look_up(lambda found: found > 0, OPEN):
            self.driver.say("failed", reason=f"no metadata of {self.topic} within {OPEN:.0f} s")
            return 1
        self.driver.say("ready", partitions=self.partitions)
        waits_for_all = False
        while True:
            command = self.command()
            if command is not None and command["do"] == "stop":
                break
            if command is not None:
                waits_for_all = self._do(command) or waits_for_all
            self.client.poll(LOOK)
            self.expire(self.open)
            if waits_for_all and all(one.settled for one in self.open):
                waits_for_all = False
                self.driver.say("settled")
        self.client.flush(OPEN)
        return 0

    def _do(self, command: Any) -> bool:
        """Whether there is an end to be told."""
        if command["do"] == "metadata":
            wanted = command["partitions"]
            self._look_up(lambda found: found == wanted, command["seconds"])
            self.driver.say("metadata", partitions=self.partitions)
            return False
        if command["do"] == "sentinel":
            attempt = Open(command["event_id"], 0, time.monotonic() + command["seconds"])
            self._send(attempt, Message(command["event_id"]), command["partition"])
            return False
        events = [Message(**event) for event in command["events"]]
        for event in self.to_retry(events) if command["do"] == "retry" else events:
            place = partition_of(account_of(event.event_id), self.partitions)
            self._send(self.attempt(event, command["seconds"]), event, place)
            self.client.poll(0)
        return True

    def _look_up(self, enough: Any, seconds: float) -> bool:
        """Asks for the topic's partitions until there are enough, or the time is over; whether there were."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                found = self.client.list_topics(self.topic, timeout=5).topics[self.topic]
                self.partitions = len(found.partitions) if found.error is None else 0
            except KafkaException:
                self.partitions = 0
            if enough(self.partitions) or time.monotonic() > deadline:
                return bool(enough(self.partitions))
            self.client.poll(LOOK)

    def _send(self, attempt: Open, message: Message, partition: int) -> None:
        self.open.append(attempt)
        where = {} if self.mutant == DEFAULT_PARTITIONER and attempt.number else {"partition": partition}
        key = account_of(message.event_id) if attempt.number else message.event_id

        def reported(error: Any, record: Any) -> None:
            self._reported(attempt, error, record)

        try:
            body = message.body(self.run, self.case, self.writer)
            self.client.produce(self.topic, body, key=key, on_delivery=reported, **where)
        except (KafkaException, BufferError) as error:
            self.settle(attempt, Outcome.NACKED, error=str(error), sent=False)
        self.sent(attempt)

    def _reported(self, attempt: Open, error: Any, record: Any) -> None:
        """A delivery report. Without an error the record is there, though its offset may not be told."""
        if error is not None:
            outcome = Outcome.NACKED if error.code() in REFUSED else Outcome.UNKNOWN
            self.settle(attempt, outcome, error=error.name(), reason=error.str())
        else:
            self.hooks.reach(AFTER_CONFIRM_BEFORE_LEDGER, attempt.event_id)
            offset = record.offset()
            where = {"partition": record.partition(), "offset": offset if offset is not None and offset >= 0 else None}
            self.settle(attempt, Outcome.CONFIRMED, late=attempt.settled, key=record.key().decode(), **where)
        self.open.remove(attempt)


if __name__ == "__main__":
    sys.exit(KafkaPublisher(Driver()).main())
