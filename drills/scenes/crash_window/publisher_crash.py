"""The publisher is held between the confirm and its ledger, and killed; another one sends what is unknown again."""

from __future__ import annotations

from drills.actors.hooks import AFTER_CONFIRM_BEFORE_LEDGER
from drills.engine.stage import Stage
from drills.scenes.queue_case import QueueCase


class PublisherCrash(QueueCase):
    """One event, U001. It shows a publisher that can't know, and not a confirm that the network lost."""

    fault = f"SIGKILL to the publisher while U001 is held at {AFTER_CONFIRM_BEFORE_LEDGER}"

    def fixture(self, stage: Stage) -> None:
        """The place."""
        self.scene(stage).build()

    def inject(self, stage: Stage) -> None:
        """Confirmed, held, and killed there."""
        scene = self.scene(stage)
        first = scene.publisher("publisher-1")
        [event] = self.ids(stage)
        first.arm(AFTER_CONFIRM_BEFORE_LEDGER, event)
        seconds = stage.parameters["confirm_seconds"]
        first.send("publish", events=scene.messages([event]), confirm_seconds=seconds)
        scene.held(first, AFTER_CONFIRM_BEFORE_LEDGER, event)
        scene.outcomes("ledger_at_hook")
        scene.read_queue("queue_at_hook", lambda queue: queue.messages == 1)
        scene.kill(first)

    def observe(self, stage: Stage) -> None:
        """What its ledger says now."""
        self.scene(stage).outcomes("ledger_after_kill")

    def recover(self, stage: Stage) -> None:
        """A new publisher reads the ledger and sends again what is unknown; then a consumer."""
        scene = self.scene(stage)
        self.publisher = scene.publisher("publisher-2")
        seconds = stage.parameters["confirm_seconds"]
        self.publisher.send("retry", events=scene.messages(self.ids(stage)), confirm_seconds=seconds)
        retrying = self.publisher.await_event("retrying", seconds)["ids"]
        stage.note(f"sent again: {', '.join(retrying) or 'nothing'}", "recovery")
        self.publisher.await_event("settled", 2 * seconds)
        self.consumer = scene.consumer()
        self.consumer.send("start")
