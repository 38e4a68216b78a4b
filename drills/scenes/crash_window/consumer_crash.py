"""The consumer is held at a hook with one event and killed there; another one goes on."""

from __future__ import annotations

from drills.actors.hooks import AFTER_DB_COMMIT_BEFORE_ACK
from drills.engine.stage import Stage
from drills.scenes.queue_case import QueueCase
from drills.scenes.wrong import Wrong


class ConsumerCrash(QueueCase):
    """`design`: the wrong one of a negative control; the consumer that goes on has the right one."""

    def __init__(
        self, name: str, title: str, wrong: Wrong, hook: str, event: str, design: str | None = None, *,
        negative_control: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(name, title, wrong, negative_control=negative_control)
        self.hook, self.event, self.design = hook, event, design
        self.fault = f"SIGKILL to the consumer while {event} is held at {hook}"

    def fixture(self, stage: Stage) -> None:
        """All events confirmed; no consumer."""
        self.publish_all(stage)

    def inject(self, stage: Stage) -> None:
        """Held at the hook; read by others while it stands there; killed."""
        scene = self.scene(stage)
        first = scene.consumer("consumer-1", design=self.design)
        scene.hold(first, self.hook, self.event)
        done = len(scene.checkpoint("at_hook").effects)
        acked = done - 1 if self.hook == AFTER_DB_COMMIT_BEFORE_ACK else done
        if self.design == "ack_before_commit":
            acked += 1  # and the broker has handed out the next one
        left = len(self.ids(stage)) - acked
        scene.read_queue("queue_at_hook", lambda queue: (queue.messages, queue.unacked) == (left, min(left, 1)))
        scene.kill(first)

    def observe(self, stage: Stage) -> None:
        """What the kill left, before anything recovers."""
        self.scene(stage).checkpoint("after_kill")

    def recover(self, stage: Stage) -> None:
        """Another consumer, of the right design."""
        self.consumer = self.scene(stage).consumer("consumer-2")
        self.consumer.send("start")

    def reconcile(self, stage: Stage) -> None:
        """Also to whom the event was handed."""
        super().reconcile(stage)
        self.scene(stage).deliveries_of(self.event)
