"""Two of three replicas are stopped; what is published then is unknown, and is reconciled when they are back."""

from __future__ import annotations

import random

from drills.engine.stage import Stage
from drills.faults.stop_node import StopNode
from drills.scenes import wrong as wrongs
from drills.scenes.alerting import FIRING
from drills.scenes.queue_case import ReplicatedCase
from drills.scenes.rabbitmq import QUEUE
from drills.scenes.scene import LEDGER
from drills.targets.target import RabbitAddress


class MajorityLoss(ReplicatedCase):
    """One publisher of new IDs lives on and listens for late confirms; the other dies before the majority is back."""

    about_quorum_loss = True
    phase_seconds = 420.0  # two nodes start, one after the other
    fault = "two of the queue's three nodes are stopped (undo: they are started); 10 new events are published meanwhile"

    def inject(self, stage: Stage) -> None:
        """Stops two nodes; which one stays is drawn from the run's seed."""
        nodes = list(stage.target.rabbitmq.nodes)
        random.Random(f"{stage.seed}/{stage.case}").shuffle(nodes)  # noqa: S311 - to be repeatable
        self.survivor: RabbitAddress = nodes.pop()
        chosen = nodes[:1] if self.wrong.environment == wrongs.STOPS_ONE else nodes
        self.stopped = [stage.make(StopNode(node.name)) for node in chosen]
        for number in self.stopped:
            stage.bite(number)
        self.alert.follow(FIRING, stage.parameters["seen_seconds"])
        self._read_minority(stage, "minority_before")
        told = stage.target.rabbitmq_command(
            self.survivor.name, "quorum_status", QUEUE, "--vhost", stage.namespace, "--formatter", "json",
            program="rabbitmq-queues",
        )  # fmt: skip
        stage.fact("quorum_status", told, f"rabbitmq-queues quorum_status on {self.survivor.name}")

    def _read_minority(self, stage: Stage, name: str) -> None:
        """The queue in the eyes of the node that is left."""
        self.scene(stage).read_queue(name, lambda queue: len(queue.online) == 1, stage.parameters["election_seconds"])

    def observe(self, stage: Stage) -> None:
        """New IDs, half from each publisher; none may be called confirmed."""
        scene, new = self.scene(stage), stage.parameters["new_ids"]
        half = len(new) // 2
        self.listener = scene.publisher("publisher-that-listens", [self.survivor.name])
        mortal = scene.publisher("publisher-that-dies", [self.survivor.name])
        seconds = stage.parameters["confirm_seconds_without_majority"]
        for worker, ids in ((self.listener, new[:half]), (mortal, new[half:])):
            worker.send("publish", events=scene.messages(ids), confirm_seconds=seconds)
        for worker in (self.listener, mortal):
            worker.await_event("settled", 3 * seconds)
        scene.outcomes("outcomes_without_majority")
        self._read_minority(stage, "minority_after")
        scene.kill(mortal)

    def recover(self, stage: Stage) -> None:
        """The nodes come back; late confirms are waited for; what is still unknown is sent again by ID."""
        scene, new = self.scene(stage), stage.parameters["new_ids"]
        for number in self.stopped:
            stage.undo(number)
        scene.read_queue("queue_back", lambda queue: len(queue.online) == 3, stage.parameters["election_seconds"])
        scene.listen(self.listener, new[: len(new) // 2])
        scene.outcomes("outcomes_late")
        self.publisher = scene.publisher("publisher-again")
        self.publisher.send("retry", events=scene.messages(new), confirm_seconds=stage.parameters["confirm_seconds"])
        retried = self.publisher.await_event("retrying", 30)["ids"]
        stage.fact("retried", retried, LEDGER)
        stage.note(f"sent again: {', '.join(retried) or 'nothing'}", "recovery")
        self.publisher.await_event("settled", 60)
        self.consumer = scene.consumer()
        self.consumer.send("start")
