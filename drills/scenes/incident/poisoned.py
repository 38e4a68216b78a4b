"""Poisons between valid events: set aside with all that a repair needs, and never lost when the consumer dies at it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from drills.actors.dead_letters import SOURCE
from drills.actors.hooks import AFTER_DEAD_LETTER_BEFORE_COMMIT, AFTER_QUARANTINE_BEFORE_ACK
from drills.engine.stage import Stage
from drills.faults.topic import Topic
from drills.ledger import tables
from drills.scenes.incident import poisons
from drills.scenes.incident.compatible import AMOUNT
from drills.scenes.kafka_readings import LOG
from drills.scenes.queue_case import QueueCase
from drills.scenes.rabbitmq import QUEUE
from drills.scenes.scene import BUSINESS, READY
from drills.scenes.topic_case import TopicCase
from drills.witness.kafka import Record
from drills.witness.rabbitmq import WitnessError

DEAD = "the dead-letter topic, read committed"


class WithDeadLetters(TopicCase):
    """A topic whose consumers move what they can't read to a topic of dead letters."""

    partitions = partitions_at_the_end = 1
    amount, writer, reader = AMOUNT, 2, 2

    def plan(self, parameters: Mapping[str, Any]) -> Iterable[str]:
        """Also the other topic."""
        yield from super().plan(parameters)
        yield f"make the topic drill-<run>-{self.name}-dead-letters (removed at the end)"

    def messages(self, stage: Stage) -> list[dict[str, Any]]:
        """Poisons as the bytes that they are."""
        return poisons.with_bytes(super().messages(stage), stage.ledger.run, stage.case)

    @staticmethod
    def dead_topic(stage: Stage) -> str:
        """The topic of the dead letters."""
        return f"{stage.namespace}-dead-letters"

    def moves(self, stage: Stage) -> dict[str, Any]:
        """Options of its consumers. One transactional ID: whoever comes later ends what the one before left open."""
        return {"dead_letters": self.dead_topic(stage), "transactional_id": f"{stage.namespace}-consumer"}

    def fixture(self, stage: Stage) -> None:
        """All confirmed; no consumer."""
        stage.make(Topic(self.dead_topic(stage), 1))
        self.produce_all(stage)

    def places(self, stage: Stage) -> dict[str, str]:
        """Event -> where it stands in the log, by the producer's delivery reports."""
        rows = stage.ledger.rows(tables.attempts, stage.case)
        topic = self.scene(stage).topic
        return {
            row["event_id"]: f"{topic}/{row['detail']['partition']}/{row['detail']['offset']}"
            for row in rows
            if row["outcome"] == "confirmed"
        }

    def read_dead(self, stage: Stage, name: str, *, committed: bool = True) -> list[dict[str, Any]] | None:
        """The dead letters with headers and bytes; kept as a fact. None: they could not be read."""
        try:
            found = self.scene(stage).witness.log(self.dead_topic(stage), committed=committed)
        except WitnessError as error:
            stage.note(f"{name}: {error}", "observation")
            stage.fact(name, None, DEAD if committed else LOG)
            return None
        told = [_letter(one) for one in found]
        stage.fact(name, told, DEAD if committed else LOG)
        return told

    def reconcile(self, stage: Stage) -> None:
        """Also the dead letters, and which events they are."""
        super().reconcile(stage)
        self.scene(stage).read_offsets("offsets_after", lambda found: set(found.lag.values()) == {0})
        found = self.read_dead(stage, "dead_letters_read") or []
        by_place = {place: event for event, place in self.places(stage).items()}
        stage.fact("places", self.places(stage), "the producer's delivery reports, by the run's ledger")
        known = sorted({by_place.get(one["headers"].get(SOURCE, ""), "") for one in found} - {""})
        stage.fact("dead_letters", known, DEAD)


def _letter(found: Record) -> dict[str, Any]:
    return {"offset": found.offset, "headers": dict(found.headers), "body": found.body.hex()}


class PoisonedTopic(WithDeadLetters):
    """The first consumer is killed between the dead letter's send and the transaction's commit."""

    profile = "poisoned"
    fault = "the consumer is killed while a dead letter is sent and its transaction is not committed"

    def inject(self, stage: Stage) -> None:
        """Held in the middle of the transaction, and killed there."""
        scene, place = self.scene(stage), self.places(stage)[poisons.IDS[0]]
        arm = (AFTER_DEAD_LETTER_BEFORE_COMMIT, place)
        consumer = scene.consumer(arm=arm, **self.moves(stage))
        scene.held(consumer, *arm)
        scene.read_offsets("offsets_at_hook", lambda _: True)
        self.read_dead(stage, "dead_at_hook")
        self.read_dead(stage, "sent_at_hook", committed=False)
        scene.kill(consumer)

    def recover(self, stage: Stage) -> None:
        """Another one, which begins where the offsets are."""
        self.consumers = [self.scene(stage).consumer("consumer-again", **self.moves(stage))]


class PoisonedQueue(QueueCase):
    """The first consumer is killed between the quarantine and the ack."""

    amount, writer, reader = AMOUNT, 2, 2
    fault = "the consumer is killed while a message is in quarantine and not acked"

    def messages(self, stage: Stage) -> list[dict[str, Any]]:
        """In their order; poisons as the bytes that they are."""
        sent = self.scene(stage).messages(self.ids(stage))
        return poisons.with_bytes(sent, stage.ledger.run, stage.case)

    def fixture(self, stage: Stage) -> None:
        """All confirmed; no consumer."""
        self.publish_all(stage)
        self.scene(stage).outcomes("outcomes_before")

    def inject(self, stage: Stage) -> None:
        """Held before the ack, and killed there."""
        scene = self.scene(stage)
        consumer = scene.consumer()
        scene.hold(consumer, AFTER_QUARANTINE_BEFORE_ACK, self.place(poisons.IDS[0]))
        kept = scene.checkpoint("at_hook")
        left = len(self.ids(stage)) - len(kept.effects)  # what is acked is gone; unacked says nothing (DECISIONS)
        scene.read_queue("queue_at_hook", lambda queue: queue.messages == left)
        scene.kill(consumer)

    @staticmethod
    def place(event_id: str) -> str:
        """Where a consumer says that it had it from."""
        return f"{QUEUE}/{event_id}"

    def recover(self, stage: Stage) -> None:
        """Another one."""
        self.consumer = self.scene(stage).consumer("consumer-again")
        self.consumer.send("start")
        self.consumer.await_event("started", READY)

    def reconcile(self, stage: Stage) -> None:
        """Also which events are in quarantine."""
        super().reconcile(stage)
        by_place = {self.place(event): event for event in poisons.IDS}
        rows = stage.ledger.facts()[stage.case]["checkpoint"]["quarantine"]
        known = sorted(by_place.get(row["place"], row["event_id"] or row["place"]) for row in rows)
        stage.fact("quarantined", known, BUSINESS)
