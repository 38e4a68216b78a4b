"""Followers are stopped until one replica is in sync: acks=all is confirmed at two, and not at one."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from typing import Any

from drills.engine.stage import Stage
from drills.faults.stop_node import StopNode
from drills.scenes import wrong as wrongs
from drills.scenes.alerting import FIRING, WATCHED, Alert
from drills.scenes.kafka_readings import ADMIN, PAGE
from drills.scenes.scene import LEDGER
from drills.scenes.topic_case import TopicCase
from drills.witness import exporter_page
from drills.witness.rabbitmq import WitnessError

UNDER = "mq_kafka_partition_under_min_isr"
ALERT = "KafkaUnderMinIsr"
ONE_TRY = {
    "enable.idempotence": False,
    "retries": 0,  # the broker's own answer to each send is kept, and not that of the last of many
    "message.timeout.ms": 10_000,
    "request.timeout.ms": 6_000,
    "max.in.flight.requests.per.connection": 1,
    "batch.num.messages": 1,  # each event has an answer of its own
}


class IsrLoss(TopicCase):
    """One partition with three replicas; ten A events at two in sync, ten B events at one."""

    about_quorum_loss = True
    phase_seconds = 420.0  # two brokers start, one after the other
    profile = "isr"
    partitions = partitions_at_the_end = 1
    fault = "one follower, then the other is stopped (undo: they are started); controllers keep their majority"

    def plan(self, parameters: Mapping[str, Any]) -> Iterable[str]:
        """Also the alert."""
        yield from super().plan(parameters)
        yield WATCHED

    def fixture(self, stage: Stage) -> None:
        """An empty topic, a producer that tries each event once, and an alert that can fire."""
        scene = self.scene(stage)
        scene.build()
        self.producer = scene.producer(settings=ONE_TRY)
        self.alert = Alert(stage, ALERT, f'{UNDER}{{topic="{scene.topic}"}} == 1')
        self.alert.bring()

    def steady(self, stage: Stage) -> None:
        """Three in sync; the quorum of the controllers."""
        self.scene(stage).read_partitions("isr_before", lambda found: len(found[0].in_sync) == 3)
        self._quorum(stage, "quorum_before")

    def inject(self, stage: Stage) -> None:
        """Two in sync, then A; one in sync, then B."""
        assert self.producer is not None
        scene, patience = self.scene(stage), stage.parameters["isr_seconds"]
        first, second = self._followers(stage)
        self.stopped: list[int] = []
        if self.wrong.environment != wrongs.STOPS_NONE:
            self._stop(stage, first)
        scene.read_partitions("isr_two", lambda found: len(found[0].in_sync) == 2, patience)
        scene.produce(self.producer, scene.messages(stage.parameters["a_ids"]))
        scene.outcomes("outcomes_a")
        if self.wrong.environment != wrongs.STOPS_ONE:
            self._stop(stage, second)
        scene.read_partitions("isr_one", lambda found: len(found[0].in_sync) == 1, patience)
        self._quorum(stage, "quorum_without")
        scene.produce(self.producer, scene.messages(stage.parameters["b_ids"]), stage.parameters["b_seconds"])

    def _followers(self, stage: Stage) -> list[str]:
        """The nodes of the two followers, in an order of the run's seed."""
        [one] = self.scene(stage).witness.partitions(self.scene(stage).topic)
        names = {stage.target.kafka_broker(name): name for name in stage.nodes("kafka")}
        found = [names[broker] for broker in one.replicas if broker != one.leader]
        random.Random(f"{stage.seed}/{stage.case}").shuffle(found)  # noqa: S311 - to be repeatable
        stage.fact("followers", found, ADMIN)
        return found

    def _stop(self, stage: Stage, node: str) -> None:
        number = stage.make(StopNode(node))
        self.stopped.append(number)
        stage.bite(number)

    def _quorum(self, stage: Stage, name: str) -> None:
        """What the controllers say of themselves; kept as a fact. None: not told."""
        try:
            stage.fact(name, self.scene(stage).witness.quorum(), ADMIN)
        except WitnessError as error:
            stage.note(f"{name}: {error}", "observation")
            stage.fact(name, None, ADMIN)

    def observe(self, stage: Stage) -> None:
        """What each B came to, and whether metric and alert show why; the replicas once more."""
        scene = self.scene(stage)
        scene.errors("errors_b", stage.parameters["b_ids"])
        scene.outcomes("outcomes_b")
        self._metric(stage)
        self.alert.follow(FIRING, stage.parameters["seen_seconds"])
        scene.read_partitions("isr_one_after", lambda found: len(found[0].in_sync) == 1)

    def _metric(self, stage: Stage) -> None:
        seen: list[float | None] = [None]

        def lack() -> str | None:
            if stage.exporter_url is not None:
                seen[0] = exporter_page.fetch(stage.exporter_url).value(UNDER, topic=self.scene(stage).topic)
            return None if seen[0] == 1 else f"{UNDER} is {seen[0]}"

        self.scene(stage).look(
            "the exporter shows the partition under its least", lack, stage.parameters["seen_seconds"]
        )
        stage.fact("under_min_isr", seen[0], PAGE)

    def recover(self, stage: Stage) -> None:
        """Brokers come back; B is sent again by ID; then a consumer."""
        assert self.producer is not None
        self.producer.stop()
        scene = self.scene(stage)
        for number in reversed(self.stopped):
            stage.undo(number)
        scene.read_partitions("isr_back", lambda found: len(found[0].in_sync) == 3, stage.parameters["isr_seconds"])
        self.producer = scene.producer("producer-again")
        seconds = stage.parameters["confirm_seconds"]
        self.producer.send("retry", events=scene.messages(stage.parameters["b_ids"]), seconds=seconds)
        retried = self.producer.await_event("retrying", 30)["ids"]
        stage.fact("retried", retried, LEDGER)
        stage.note(f"sent again: {', '.join(retried) or 'nothing'}", "recovery")
        self.producer.await_event("settled", 2 * seconds)
        self.consumers = [scene.consumer()]
