"""Two versions of a contract: each writer with each reader, and an upgrade that goes through all four."""

from __future__ import annotations

from typing import Any

from drills.actors.worker import Worker
from drills.engine.stage import Stage
from drills.scenes import wrong as wrongs
from drills.scenes.kafka_readings import STABLE
from drills.scenes.topic_case import TopicCase
from drills.scenes.wrong import Wrong
from drills.witness.kafka import GroupReading
from drills.witness.rabbitmq import WitnessError

AMOUNT = 100  # minor units
VERSIONS = "the group's coordinator, the workers' own word, and the business database"


class Cell(TopicCase):
    """Ten events of one writer, read by one reader. Fact `fields`: what it made of them."""

    partitions = partitions_at_the_end = 1
    amount = AMOUNT

    def __init__(self, writer: int, reader: int, wrong: Wrong) -> None:
        super().__init__(f"writer-{writer}-reader-{reader}", f"writer {writer}, reader {reader}", wrong)
        self.writer, self.reader = writer, reader
        self.profile = f"v{writer}"

    def fixture(self, stage: Stage) -> None:
        """All events confirmed; no consumer."""
        self.produce_all(stage)

    def observe(self, stage: Stage) -> None:
        """One consumer takes them."""
        self.consumers = [self.scene(stage).consumer()]

    def reconcile(self, stage: Stage) -> None:
        """Also the fields after decoding."""
        super().reconcile(stage)
        self.scene(stage).fields("fields")


class RollingUpgrade(TopicCase):
    """Two consumers of version 1, replaced one after the other while events come; the producer is last.

    Fact `steps`: what ran, and how far it was, at each step.
    """

    partitions = partitions_at_the_end = 2
    profile = "upgrade"
    amount, writer, reader = AMOUNT, 1, 1
    fault = "no fault; both consumers, then the producer are replaced by the next version while events come"

    def fixture(self, stage: Stage) -> None:
        """Everything in version 1, and a group that is stable."""
        scene = self.scene(stage)
        scene.build()
        self.steps: list[dict[str, Any]] = []
        self.running = {"producer-v1": 1}
        self.old, self.new = stage.parameters["ids"]["v1"], stage.parameters["ids"]["v2"]
        self.producer = scene.producer("producer-v1")
        self.consumers = [self._joined(stage, "consumer-a", 1), self._joined(stage, "consumer-b", 1)]
        self._stable(stage)

    def _joined(self, stage: Stage, name: str, version: int) -> Worker:
        self.running[f"{name}-v{version}"] = version
        return self.scene(stage).consumer(f"{name}-v{version}", reader=version)

    def _stable(self, stage: Stage) -> None:
        def whole(found: GroupReading) -> bool:
            running = {self._client(stage, name) for name in self.running if name.startswith("consumer")}
            return found.state == STABLE and {one.client for one in found.members} == running

        self.scene(stage).read_group("group", whole, stage.parameters["group_seconds"])

    @staticmethod
    def _client(stage: Stage, name: str) -> str:
        return f"{stage.case}.{name}"

    def steady(self, stage: Stage) -> None:
        """Some events of version 1."""
        self._step(stage, "all of version 1", self.old[:4])

    def inject(self, stage: Stage) -> None:
        """The consumers, one after the other, each with events before the next."""
        if self.wrong.environment == wrongs.PRODUCER_FIRST:
            self._upgrade_producer(stage)
        self._upgrade(stage, 0, "consumer-a")
        self._step(stage, "one consumer of version 2", self.old[4:7])
        self._upgrade(stage, 1, "consumer-b")
        self._step(stage, "both consumers of version 2", self.old[7:])

    def _upgrade(self, stage: Stage, number: int, name: str) -> None:
        self.consumers[number].stop()
        del self.running[f"{name}-v1"]
        self.consumers[number] = self._joined(stage, name, 2)
        self._stable(stage)

    def observe(self, stage: Stage) -> None:
        """The producer is last."""
        if self.wrong.environment != wrongs.PRODUCER_FIRST:
            self._upgrade_producer(stage)
        self._step(stage, "all of version 2", self.new)

    def _upgrade_producer(self, stage: Stage) -> None:
        assert self.producer is not None
        self.producer.stop()
        del self.running["producer-v1"]
        self.running["producer-v2"] = 2
        self.producer = self.scene(stage).producer("producer-v2", writer=2)

    def _step(self, stage: Stage, name: str, ids: list[str]) -> None:
        """Sends, waits until all that was sent so far is applied, and notes what ran meanwhile."""
        assert self.producer is not None
        scene = self.scene(stage)
        scene.produce(self.producer, scene.messages(ids))
        sent = sum(step["sent"] for step in self.steps) + len(ids)
        found = scene.await_effects(sent, stage.parameters["drain_seconds"])
        try:
            members = sorted(one.client for one in scene.witness.group(scene.group, scene.topic).members)
        except WitnessError as error:
            stage.note(f"{name}: {error}", "observation")
            members = []
        told = {
            "step": name, "running": dict(self.running), "members": members, "sent": len(ids),
            "effects": len(found.effects), "quarantined": len(found.quarantine),
        }  # fmt: skip
        self.steps.append(told)
        stage.fact("steps", self.steps, VERSIONS)
        stage.note(f"{name}: {told['effects']} applied, {told['quarantined']} set aside", "observation")

    def reconcile(self, stage: Stage) -> None:
        """Also the fields after decoding."""
        super().reconcile(stage)
        self.scene(stage).fields("fields")
