"""One case on Kafka with the business database: a topic and a group, workers on them, and its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drills.actors.worker import Worker, WorkerError
from drills.faults.group import Group
from drills.faults.topic import Topic
from drills.ledger import tables
from drills.scenes import wrong as wrongs
from drills.scenes.kafka_readings import KafkaReadings
from drills.scenes.scene import HANDLER, READY
from drills.witness import kafka_drain

PRODUCER, CONSUMER = "drills.actors.kafka_producer", "drills.actors.kafka_consumer"
IN_ORDER = {"enable.idempotence": True}  # records of one partition keep the order in which they were sent


@dataclass
class Scene(KafkaReadings):
    """A topic with three replicas, and a group whose committed offsets begin at 0."""

    # the place

    def build(self) -> None:
        """An empty topic with min.insync.replicas=2 of its own, the group at 0, and the tables with a counter at 0."""
        self.stage.make(Topic(self.topic, self.partitions))
        self.stage.make(Group(self.group, self.topic, self.partitions))
        self.make_tables()

    # workers

    def worker(self, module: str, name: str, **options: Any) -> Worker:
        """A worker that is ready."""
        place = {"client": dict(self.stage.target.kafka.client), "topic": self.topic, "group": self.group}
        made: Worker = self.stage.start_worker(module, name, {**place, **self.clock, "handler_id": HANDLER, **options})
        made.await_event("ready", READY)
        return made

    def producer(self, name: str = "producer", settings: Mapping[str, Any] | None = None, **options: Any) -> Worker:
        """A producer that has the topic's metadata."""
        chosen = dict(IN_ORDER if settings is None else settings)
        given = {"mutant": self.wrong.publisher, "writer": self.writer, **options}
        return self.worker(PRODUCER, name, settings=chosen, **given)

    def consumer(
        self, name: str = "consumer", hold: Sequence[int] = (), arm: tuple[str, str] | None = None, **options: Any
    ) -> Worker:
        """A consumer that joins the group. `hold`: partitions of which it handles nothing until it is told.

        `arm`: a hook and an event at which it is held.
        """
        given = {"mutant": self.wrong.consumer, "victim": self.wrong.victim, "reader": self.reader, **options}
        made = self.worker(CONSUMER, name, **given)
        if arm is not None:
            made.arm(*arm)
        made.send("join", hold=list(hold))
        return made

    def produce(self, worker: Worker, messages: Sequence[Mapping[str, Any]], seconds: float | None = None) -> None:
        """Sends, and waits until each has an outcome in the ledger."""
        patience = self.stage.parameters["confirm_seconds"] if seconds is None else seconds
        worker.send("produce", events=list(messages), seconds=patience)
        worker.await_event("settled", 2 * patience + READY)
        self.stage.note(f"{len(messages)} published: {self._told()}", "observation")

    def sees_partitions(self, worker: Worker, count: int) -> None:
        """Waits until the producer's own metadata has so many partitions; the fact `producer_metadata`."""
        seconds = self.stage.parameters["metadata_seconds"]
        worker.send("metadata", partitions=count, seconds=seconds)
        seen = worker.await_event("metadata", seconds + READY)["partitions"]
        self.stage.fact("producer_metadata", seen, "the producer's own metadata")
        if seen != count:
            raise WorkerError(f"the producer saw {seen} partitions after {seconds} s, not {count}")

    # the end

    def drain(self, producer: Worker, consumers: Sequence[Worker], partitions: int | None = None) -> None:
        """A sentinel through each partition, and readings until zero stays zero; kept as the fact `drain`."""
        if self.wrong.environment == wrongs.NO_SENTINEL:
            producer.kill()
        numbers = range(self.partitions if partitions is None else partitions)
        drain = kafka_drain.prove(
            lambda: (self.witness.partitions(self.topic), self.witness.offsets(self.group, self.topic)),
            [f"sentinel-{number}" for number in numbers],
            lambda sentinels: self._pass(sentinels, producer, consumers),
            self.stage.parameters["drain_seconds"],
        )
        self.stage.drained(drain)
        lack = drain.lack()
        self.stage.note(f"drain: {'proven' if lack is None else lack}", "recovery")

    def _pass(self, sentinels: Sequence[str], producer: Worker, consumers: Sequence[Worker]) -> None:
        """Whoever has a partition says so of its sentinel."""
        confirm, seconds = self.stage.parameters["confirm_seconds"], self.stage.parameters["drain_seconds"]
        try:
            for number, sentinel in enumerate(sentinels):
                producer.send("sentinel", event_id=sentinel, partition=number, seconds=confirm)
                producer.await_event("sentinel_confirmed", confirm + 5, event_id=sentinel)
            for sentinel in sentinels:
                self._await_any(consumers, sentinel, seconds)
        except WorkerError as error:
            self.stage.note(f"the sentinels did not get through: {error}", "observation")
            raise

    def _await_any(self, consumers: Sequence[Worker], sentinel: str, seconds: float) -> None:
        def lack() -> str | None:
            for one in consumers:
                try:
                    one.await_event("sentinel", 0.0, event_id=sentinel)
                except WorkerError:
                    continue
                return None
            return "no consumer has told it"

        self.stage.wait(f"{sentinel} was consumed", lack, seconds)

    def seen_at(self) -> dict[str, str]:
        """Also what was confirmed and handed to nobody: its place in the log."""
        rows = self.stage.ledger.rows(tables.attempts, self.stage.case)
        logged = {
            row["event_id"]: f"in the log at {self.topic}/{row['detail']['partition']}/{row['detail']['offset']}"
            for row in rows
            if row["detail"].get("offset") is not None
        }
        return {**logged, **super().seen_at()}
