"""One part at a time is stopped and started again, with its disk and its group: a Kafka broker, a consumer.

The leader of a RabbitMQ queue is the case that crash-window has (`LeaderLoss`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from drills.actors.hooks import AFTER_DB_COMMIT_BEFORE_ACK
from drills.engine.stage import Stage
from drills.faults.stop_node import StopNode
from drills.scenes import wrong as wrongs
from drills.scenes.alerting import FIRING, WATCHED, Alert
from drills.scenes.incident.compatible import AMOUNT
from drills.scenes.kafka_readings import ADMIN
from drills.scenes.topic_case import TopicCase


class Restart(TopicCase):
    """Half of the events before, half while the part is away."""

    profile = "restart"
    amount, writer, reader = AMOUNT, 2, 2

    def halves(self, stage: Stage) -> tuple[list[str], list[str]]:
        """The events before, and those after."""
        ids = self.ids(stage)
        return ids[: len(ids) // 2], ids[len(ids) // 2 :]

    def send(self, stage: Stage, ids: list[str]) -> None:
        """Publishes some of the events."""
        assert self.producer is not None
        self.scene(stage).produce(self.producer, self.scene(stage).messages(ids))

    def fixture(self, stage: Stage) -> None:
        """The first half confirmed."""
        scene = self.scene(stage)
        scene.build()
        self.producer = scene.producer()
        self.send(stage, self.halves(stage)[0])

    def reconcile(self, stage: Stage) -> None:
        """Also where the group stands at the end."""
        self.scene(stage).read_offsets("offsets_after", lambda found: set(found.lag.values()) == {0})
        super().reconcile(stage)


class BrokerRestart(Restart):
    """The broker that leads partition 0; the consumer goes on."""

    phase_seconds = 300.0  # a broker that starts on a busy machine takes its time
    fault = "the broker that leads partition 0 is stopped (undo: it is started), and events come meanwhile"

    def plan(self, parameters: Mapping[str, Any]) -> Iterable[str]:
        """Also the alert."""
        yield from super().plan(parameters)
        yield WATCHED

    def steady(self, stage: Stage) -> None:
        """The first half applied; all replicas in sync; an alert on brokers that are down."""
        scene, before = self.scene(stage), self.halves(stage)[0]
        self.alert = Alert(stage, "DrillBrokerDown", "mq_kafka_broker_up == 0")
        self.alert.bring()
        self.consumers = [scene.consumer()]
        scene.await_effects(len(before), stage.parameters["drain_seconds"])
        scene.read_partitions("replicas_before", lambda found: all(len(one.in_sync) == 3 for one in found))

    def inject(self, stage: Stage) -> None:
        """Stops it."""
        scene = self.scene(stage)
        leader = scene.witness.partitions(scene.topic)[0].leader
        names = {stage.target.kafka_broker(name): name for name in stage.nodes("kafka")}
        stage.fact("stopped", leader, ADMIN)
        self.number: int | None = None
        if self.wrong.environment != wrongs.BROKER_STAYS:
            self.number = stage.make(StopNode(names[leader]))
            stage.bite(self.number)
            self.alert.follow(FIRING, stage.parameters["seen_seconds"])

    def observe(self, stage: Stage) -> None:
        """Another leader, and the second half while it is away."""
        stopped = stage.ledger.facts()[stage.case]["stopped"]
        self.scene(stage).read_partitions(
            "replicas_without",
            lambda found: all(one.leader not in (None, stopped) and stopped not in one.in_sync for one in found),
            stage.parameters["isr_seconds"],
        )
        self.send(stage, self.halves(stage)[1])

    def recover(self, stage: Stage) -> None:
        """It is back, in sync."""
        if self.number is not None:
            stage.undo(self.number)
        self.scene(stage).read_partitions(
            "replicas_back", lambda found: all(len(one.in_sync) == 3 for one in found), stage.parameters["isr_seconds"]
        )


class ConsumerRestart(Restart):
    """The consumer, between commit and offset; events come while it is away."""

    partitions = partitions_at_the_end = 1
    fault = "the consumer is killed after the commit and before the offset, and another one of the group begins"

    def inject(self, stage: Stage) -> None:
        """Held with the last event of the first half, and killed there."""
        scene, victim = self.scene(stage), self.halves(stage)[0][-1]
        stage.fact("victim", victim, "the run's parameters")
        arm = (AFTER_DB_COMMIT_BEFORE_ACK, victim)
        consumer = scene.consumer(arm=arm)
        scene.held(consumer, *arm)
        scene.checkpoint("at_hook")
        scene.read_offsets("offsets_at_hook", lambda _: True)
        scene.kill(consumer)

    def observe(self, stage: Stage) -> None:
        """The second half, with nobody there."""
        self.send(stage, self.halves(stage)[1])

    def recover(self, stage: Stage) -> None:
        """Another consumer of the same group."""
        self.consumers = [self.scene(stage).consumer("consumer-again")]

    def reconcile(self, stage: Stage) -> None:
        """Also to whom the event at the hook was handed."""
        super().reconcile(stage)
        self.scene(stage).deliveries_of(stage.ledger.facts()[stage.case]["victim"])
