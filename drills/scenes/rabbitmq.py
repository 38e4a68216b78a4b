"""One case on RabbitMQ with the business database: a vhost with a queue, workers on it, and readings of all of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from drills.actors.worker import Worker, WorkerError
from drills.faults.queue import Queue
from drills.faults.vhost import Vhost
from drills.lab.errors import LabTimeoutError
from drills.scenes import wrong as wrongs
from drills.scenes.scene import HANDLER, READY, SEEN, BusinessScene
from drills.witness import exporter_page, rabbitmq_drain
from drills.witness.agreement import Agreement
from drills.witness.rabbitmq import QueueReading, RabbitWitness, WitnessError

PUBLISHER, CONSUMER = "drills.actors.rabbitmq_publisher", "drills.actors.rabbitmq_consumer"
QUEUE = "work"
API = "RabbitMQ's management API"


@dataclass
class Scene(BusinessScene):
    """A vhost with one quorum queue."""

    delivery_limit: int = 20  # 4.x has one of 20 unless told, 3.x none: the same everywhere, and no case comes near it

    @property
    def witness(self) -> RabbitWitness:
        """The management API of any node that answers."""
        found = self.stage.target.rabbitmq
        return RabbitWitness(found.urls, found.user, found.password, found.ca_file)

    # the place

    def build(self) -> None:
        """A vhost with an empty queue of three replicas, and the tables with a counter at 0."""
        self.stage.make(Vhost(self.stage.namespace))
        self.stage.make(Queue(self.stage.namespace, QUEUE, queue_arguments={"x-delivery-limit": self.delivery_limit}))
        self.make_tables()

    # workers

    def worker(self, module: str, name: str, nodes: Sequence[str] | None = None, **options: Any) -> Worker:
        """A worker that is connected. `nodes`: the target's names of those that it may connect to."""
        addresses = self.stage.target.rabbitmq
        chosen = [node for node in addresses.nodes if nodes is None or node.name in nodes]
        scheme = "amqps" if addresses.ca_file else "amqp"
        login = ":".join(quote(part, safe="") for part in (addresses.user, addresses.password))
        urls = [f"{scheme}://{login}@{node.host}:{node.amqp_port}" for node in chosen]
        place = {"amqp": urls, "ca_file": addresses.ca_file, "vhost": self.stage.namespace, "queue": QUEUE}
        made: Worker = self.stage.start_worker(module, name, {**place, **self.clock, "handler_id": HANDLER, **options})
        made.await_event("ready", READY)
        return made

    def publisher(self, name: str = "publisher", nodes: Sequence[str] | None = None, **options: Any) -> Worker:
        """A publisher that is connected."""
        given = {"mutant": self.wrong.publisher, "writer": self.writer, **options}
        return self.worker(PUBLISHER, name, nodes, **given)

    def consumer(
        self, name: str = "consumer", nodes: Sequence[str] | None = None, design: str | None = None, **options: Any
    ) -> Worker:
        """A consumer that is connected and does not consume yet. `design`: the wrong one of a negative control."""
        chosen = design or self.wrong.consumer
        given = {"mutant": chosen, "victim": self.wrong.victim, "reader": self.reader, **options}
        return self.worker(CONSUMER, name, nodes, prefetch=1, **given)

    def publish(self, worker: Worker, messages: Sequence[Mapping[str, Any]]) -> None:
        """Publishes, and waits until each has an outcome in the ledger."""
        seconds = self.stage.parameters["confirm_seconds"]
        worker.send("publish", events=list(messages), confirm_seconds=seconds)
        worker.await_event("settled", 2 * seconds + READY)
        self.stage.note(f"{len(messages)} published: {self._told()}", "observation")

    def listen(self, worker: Worker, ids: Sequence[str]) -> None:
        """Waits a while for late confirms of a publisher's events, none of which is needed; then the publisher ends.

        Its channel may still be blocked: then it is killed, and what it does not know stays unknown.
        """

        def lack() -> str | None:
            told = {one.event_id for one in self.stage.ledger.attempts(self.stage.case) if not one.outcome.is_unknown}
            return ", ".join(sorted(set(ids) - told)) or None

        with contextlib.suppress(LabTimeoutError):
            self.stage.wait("late confirms", lack, self.stage.parameters["late_confirm_seconds"])
        with contextlib.suppress(WorkerError):
            worker.stop(15.0)

    def hold(self, worker: Worker, hook: str, event_id: str) -> bool:
        """Lets a consumer run until it is held there; whether it was."""
        worker.arm(hook, event_id)
        worker.send("start")
        return self.held(worker, hook, event_id)

    # readings

    def read_queue(self, name: str, good: Callable[[QueueReading], bool], seconds: float = SEEN) -> QueueReading | None:
        """The queue as the API tells it once it is good, or at the end of the time; kept as a fact. None: not told."""
        found: list[QueueReading | None] = [None]

        def lack() -> str | None:
            try:
                found[0] = self.witness.queue(self.stage.namespace, QUEUE)
            except WitnessError as error:
                return str(error)
            self.stage.live(**_counts(found[0]))
            return None if found[0] is not None and good(found[0]) else str(_counts(found[0]))

        self._try(f"{name}: the broker's counts", lack, seconds)
        self.stage.fact(name, None if found[0] is None else found[0].json(), API)
        return found[0]

    def compare(self, name: str, ready: int, unacked: int) -> None:
        """What exporter and management API say of the queue, once they agree, or at the end of the time; as a fact."""
        found: list[Agreement | None] = [None]

        def lack() -> str | None:
            try:
                found[0] = both = self._both()
            except WitnessError as error:
                return str(error)
            said = both.said
            want = {"ready": ready, "unacked": unacked}
            return None if all(said[key] == (value, value) for key, value in want.items()) else str(said)

        if self.stage.exporter_url is not None:
            self._try(f"{name}: exporter and management API agree", lack, SEEN)
        told = None if found[0] is None else found[0].json()
        self.stage.fact(name, told, "the exporter's page and the management API")
        for text in [] if found[0] is None else found[0].disagreements:
            self.stage.note(f"the witnesses disagree on {text}", "observation")

    def _both(self) -> Agreement:
        page = exporter_page.fetch(str(self.stage.exporter_url))
        queue = self.witness.queue(self.stage.namespace, QUEUE)
        where = {"vhost": self.stage.namespace, "queue": QUEUE}
        ready = page.value("mq_rabbitmq_queue_messages_ready", **where)
        unacked = page.value("mq_rabbitmq_queue_messages_unacknowledged", **where)
        told = (queue.ready, queue.unacked) if queue is not None else (None, None)
        return Agreement("the exporter", "the API", {"ready": (ready, told[0]), "unacked": (unacked, told[1])})

    # the end

    def drain(self, publisher: Worker, consumer: Worker) -> None:
        """Sends a sentinel through, and reads until zero stays zero; kept as the fact `drain`."""
        if self.wrong.environment == wrongs.NO_SENTINEL:
            publisher.kill()
        drain = rabbitmq_drain.prove(
            lambda: self.witness.queue(self.stage.namespace, QUEUE),
            "sentinel-1",
            lambda sentinel: self._pass(sentinel, publisher, consumer),
            self.stage.parameters["drain_seconds"],
        )
        self.stage.drained(drain)
        lack = drain.lack()
        self.stage.note(f"drain: {'proven' if lack is None else lack}", "recovery")

    def _pass(self, sentinel: str, publisher: Worker, consumer: Worker) -> None:
        try:
            publisher.send("sentinel", event_id=sentinel, confirm_seconds=self.stage.parameters["confirm_seconds"])
            publisher.await_event("sentinel_confirmed", self.stage.parameters["confirm_seconds"] + 5)
            consumer.await_event("sentinel", self.stage.parameters["drain_seconds"])
        except WorkerError as error:
            self.stage.note(f"the sentinel did not get through: {error}", "observation")
            raise


def _counts(found: QueueReading | None) -> dict[str, object]:
    if found is None:
        return {"queue": "not told"}
    return {"ready": found.ready, "unacked": found.unacked, "online": len(found.online), "leader": found.leader}
