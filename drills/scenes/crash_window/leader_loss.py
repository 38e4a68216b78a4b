"""The node of the queue's leader is stopped while the backlog is there; it is read without that node."""

from __future__ import annotations

from drills.engine.stage import Stage
from drills.faults.stop_node import StopNode
from drills.scenes import wrong as wrongs
from drills.scenes.alerting import FIRING
from drills.scenes.queue_case import ReplicatedCase
from drills.scenes.rabbitmq import API


class LeaderLoss(ReplicatedCase):
    """Three replicas; the consumer is off until the leader has moved."""

    phase_seconds = 300.0  # a node that starts on a busy machine takes its time
    fault = "the node that leads the queue is stopped (undo: it is started)"

    def inject(self, stage: Stage) -> None:
        """Stops the node that leads now."""
        queue = self.scene(stage).read_queue("leader_before", lambda queue: queue.leader is not None)
        assert queue is not None
        assert queue.leader is not None
        addresses = stage.target.rabbitmq
        leader = addresses.node(queue.leader)
        others = [node for node in addresses.nodes if node is not leader]
        stopped = others[0] if self.wrong.environment == wrongs.STOPS_A_FOLLOWER else leader
        self.others = [node.name for node in addresses.nodes if node is not stopped]
        stage.fact("stopped", stopped.inside, API)
        self.number = stage.make(StopNode(stopped.name))
        stage.bite(self.number)

    def observe(self, stage: Stage) -> None:
        """A new leader, in the eyes of the nodes that are left."""
        before = stage.ledger.facts()[stage.case]["stopped"]
        self.scene(stage).read_queue(
            "queue_after",
            lambda queue: queue.leader not in (None, before) and before not in queue.online,
            stage.parameters["election_seconds"],
        )
        self.alert.follow(FIRING, stage.parameters["seen_seconds"])

    def recover(self, stage: Stage) -> None:
        """Everything is read while the node is away; then it comes back."""
        scene, events = self.scene(stage), len(self.ids(stage))
        self.consumer = scene.consumer(nodes=self.others)
        self.consumer.send("start")
        scene.read_queue("queue_read", lambda queue: queue.messages == 0, stage.parameters["drain_seconds"])
        found = scene.checkpoint("read_without_it")
        stage.note(f"{len(found.effects)} of {events} were read without the old leader", "recovery")
        stage.undo(self.number)
        scene.read_queue("queue_back", lambda queue: len(queue.online) == 3, stage.parameters["election_seconds"])
        self.publisher = scene.publisher("prover")
