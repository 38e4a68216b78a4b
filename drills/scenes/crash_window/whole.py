"""The cases in which nothing breaks: all events once, and one event that comes twice."""

from __future__ import annotations

from drills.engine.stage import Stage
from drills.scenes.queue_case import QueueCase
from drills.scenes.wrong import Wrong


class Baseline(QueueCase):
    """Everything is confirmed and queued before the consumer begins."""

    def fixture(self, stage: Stage) -> None:
        """All events confirmed; no consumer."""
        self.publish_all(stage)

    def steady(self, stage: Stage) -> None:
        """The depth, as two witnesses see it; the outcomes, as the ledger has them."""
        scene, events = self.scene(stage), len(self.ids(stage))
        scene.outcomes("outcomes_before")
        scene.compare("witnesses_before", ready=events, unacked=0)
        scene.read_queue("queue_before", lambda queue: (queue.ready, queue.consumers) == (events, 0))

    def observe(self, stage: Stage) -> None:
        """The consumer begins."""
        self.consumer = self.scene(stage).consumer()
        self.consumer.send("start")


class SameIdTwice(QueueCase):
    """One event comes twice, and in the right design a third time with another payload."""

    def __init__(
        self,
        name: str,
        title: str,
        wrong: Wrong,
        event: str,
        design: str | None = None,
        *,
        negative_control: bool = False,
    ) -> None:
        super().__init__(name, title, wrong, negative_control=negative_control)
        self.event, self.design = event, design
        self.fault = f"{event} is sent twice" + ("" if negative_control else ", and once more with another payload")

    def fixture(self, stage: Stage) -> None:
        """All events confirmed, then the copies."""
        self.publish_all(stage)
        scene = self.scene(stage)
        assert self.publisher is not None
        scene.publish(self.publisher, scene.messages([self.event]))
        if not self.negative_control:
            scene.publish(self.publisher, scene.messages([self.event], amount=2))

    def observe(self, stage: Stage) -> None:
        """The consumer begins."""
        self.consumer = self.scene(stage).consumer(design=self.design)
        self.consumer.send("start")
