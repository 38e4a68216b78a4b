"""What all cases on a queue of RabbitMQ share: a scene of their own, and the end: drain and account."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from drills.actors.worker import Worker
from drills.engine.drill import Case
from drills.engine.stage import Stage
from drills.scenes.alerting import WATCHED, Alert
from drills.scenes.rabbitmq import Scene
from drills.scenes.wrong import Wrong

PLACE = (
    "make the virtual host drill-<run>-{case} (removed at the end)",
    "declare the quorum queue work in it, three replicas, delivery limit 20 (removed at the end)",
)


class QueueCase(Case):
    """`negative_control`: a negative control, a wrong design on purpose; it is no evidence for the right one."""

    fault = "no fault"
    amount, writer, reader = 1, 0, 0  # as of the scene

    def __init__(self, name: str, title: str, wrong: Wrong, *, negative_control: bool = False) -> None:
        self.name, self.title = name, title  # type: ignore[misc]  # an instance of each class plays several cases
        self.wrong = wrong
        self.negative_control = negative_control
        self.publisher: Worker | None = None
        self.consumer: Worker | None = None

    def plan(self, parameters: Mapping[str, Any]) -> Iterable[str]:
        """The place, the events and the fault."""
        yield from (line.format(case=self.name) for line in PLACE)
        yield f"publish {len(parameters['ids'][self.name])} events with confirms, one consumer with prefetch 1"
        yield f"fault: {self.fault}"

    def scene(self, stage: Stage) -> Scene:
        """The scene, as the case's phases see it."""
        return Scene(stage, self.wrong, self.amount, self.writer, self.reader)

    def ids(self, stage: Stage) -> list[str]:
        """The events of the case."""
        found: list[str] = stage.parameters["ids"][self.name]
        return found

    def messages(self, stage: Stage) -> list[dict[str, Any]]:
        """What is sent of them, in an order of the run's seed."""
        scene = self.scene(stage)
        return scene.messages(scene.shuffled(self.ids(stage)))

    def publish_all(self, stage: Stage, nodes: Sequence[str] | None = None) -> None:
        """A clean place, and every event published."""
        scene = self.scene(stage)
        scene.build()
        self.publisher = scene.publisher(nodes=nodes)
        scene.publish(self.publisher, self.messages(stage))

    def drain(self, stage: Stage) -> None:
        """A sentinel goes through, and zero stays zero."""
        assert self.publisher is not None
        assert self.consumer is not None
        self.scene(stage).drain(self.publisher, self.consumer)

    def reconcile(self, stage: Stage) -> None:
        """Workers end; the account is read."""
        for worker in (self.publisher, self.consumer):
            if worker is not None:
                worker.stop()
        self.scene(stage).account()


class ReplicatedCase(QueueCase):
    """Begins with all events confirmed on three replicas, and nobody who reads them."""

    def plan(self, parameters: Mapping[str, Any]) -> Iterable[str]:
        """Also the alert."""
        yield from super().plan(parameters)
        yield WATCHED

    def fixture(self, stage: Stage) -> None:
        """All events confirmed; no consumer; an alert on nodes that are down, for the time to detection."""
        self.publish_all(stage)
        assert self.publisher is not None
        self.publisher.stop()
        self.publisher = None
        self.alert = Alert(stage, "DrillNodeDown", "mq_rabbitmq_node_up == 0")
        self.alert.bring()

    def steady(self, stage: Stage) -> None:
        """Three replicas online, and the depth."""
        scene, events = self.scene(stage), len(self.ids(stage))
        scene.outcomes("outcomes_before")
        scene.read_queue("queue_before", lambda queue: len(queue.online) == 3 and queue.ready == events)
