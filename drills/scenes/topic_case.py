"""What all cases on a topic of Kafka share: a scene of their own, and the end: drain and account."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from drills.actors.worker import Worker
from drills.engine.drill import Case
from drills.engine.stage import Stage
from drills.scenes.kafka import Scene
from drills.scenes.wrong import Wrong


class TopicCase(Case):
    """`profile`: which events it has, of the parameter `ids`. `partitions`: of its topic, at first and at the end."""

    profile = "balanced"
    partitions = 3
    partitions_at_the_end = 3
    amount, writer, reader = 1, 0, 0  # as of the scene
    fault = "no fault"
    phase_seconds = 300.0  # longer than its waits together

    def __init__(self, name: str, title: str, wrong: Wrong, *, negative_control: bool = False) -> None:
        self.name, self.title = name, title  # type: ignore[misc]  # an instance of each class may play several cases
        self.wrong = wrong
        self.negative_control = negative_control
        self.producer: Worker | None = None
        self.consumers: list[Worker] = []

    def plan(self, parameters: Mapping[str, Any]) -> Iterable[str]:
        """The place, the events and the fault."""
        where = f"drill-<run>-{self.name}"
        yield f"make the topic {where}-events, {self.partitions} partitions, three replicas, min.insync.replicas=2"
        yield f"commit the group {where}-group at 0 on each partition (topic and group are removed at the end)"
        yield f"publish {len(parameters['ids'][self.profile])} events with acks=all, by the fixture's own partitioner"
        yield f"fault: {self.fault}"

    def scene(self, stage: Stage) -> Scene:
        """The scene, as the case's phases see it."""
        return Scene(stage, self.wrong, self.amount, self.writer, self.reader, self.partitions)

    def ids(self, stage: Stage) -> list[str]:
        """The events of the case, in the order in which they are sent: of each account by its sequence."""
        found: list[str] = stage.parameters["ids"][self.profile]
        return found

    def messages(self, stage: Stage) -> list[dict[str, Any]]:
        """What is sent of them."""
        return self.scene(stage).messages(self.ids(stage))

    def produce_all(self, stage: Stage) -> None:
        """A clean place, and every event published; nobody consumes yet."""
        scene = self.scene(stage)
        scene.build()
        self.producer = scene.producer()
        scene.produce(self.producer, self.messages(stage))
        scene.delivery_records("delivery_records")
        scene.outcomes("outcomes_before")

    def drain(self, stage: Stage) -> None:
        """A sentinel goes through each partition, and zero lag stays zero."""
        assert self.producer is not None
        self.scene(stage).drain(self.producer, self.consumers, self.partitions_at_the_end)

    def reconcile(self, stage: Stage) -> None:
        """Workers end; the account is read."""
        for worker in (self.producer, *self.consumers):
            if worker is not None:
                worker.stop()
        scene = self.scene(stage)
        scene.account()
        scene.order("order")
