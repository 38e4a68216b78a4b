"""One case on RabbitMQ with the business database: a vhost with a queue, workers on it, and readings of all of them."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import quote

from drills.actors.messages import Message
from drills.actors.worker import Worker, WorkerError
from drills.business.checkpoint import Checkpoint, Reader
from drills.business.handling import Business
from drills.engine.stage import Stage
from drills.faults.kill_worker import KillWorker
from drills.faults.queue import Queue
from drills.faults.vhost import Vhost
from drills.lab.errors import LabTimeoutError
from drills.ledger import tables
from drills.scenes import wrong as wrongs
from drills.scenes.wrong import Wrong
from drills.witness import exporter_page, rabbitmq_drain
from drills.witness.agreement import Agreement
from drills.witness.rabbitmq import QueueReading, RabbitWitness, WitnessError

PUBLISHER, CONSUMER = "drills.actors.rabbitmq_publisher", "drills.actors.rabbitmq_consumer"
QUEUE, HANDLER = "work", "counter"
READY = 45.0  # seconds until a worker is connected
SEEN = 30.0  # seconds until the broker's counts, which are seconds old, show what is true
API, BUSINESS, LEDGER = "RabbitMQ's management API", "the business database, second connection", "the run's ledger"


@dataclass
class Scene:
    """The place of one case. Readings don't raise when they are not as expected: the criterion says what they mean."""

    stage: Stage
    wrong: Wrong = field(default_factory=Wrong)
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
        business = Business(self.stage.business_url, self.stage.ledger.run, self.stage.case, HANDLER)
        business.create()
        business.close()

    def messages(self, ids: Sequence[str], amount: int = 1) -> list[dict[str, Any]]:
        """The messages of these events; salted from the run's seed."""
        return [asdict(Message(event, amount, self._drawn(event)[:12])) for event in ids]

    def shuffled(self, ids: Sequence[str]) -> list[str]:
        """The events in an order of the run's seed."""
        order = list(ids)
        random.Random(self._drawn("order")).shuffle(order)  # noqa: S311 - to be repeatable
        return order

    def _drawn(self, name: str) -> str:
        return hashlib.sha256(f"{self.stage.seed}/{self.stage.case}/{name}".encode()).hexdigest()

    # workers

    def worker(self, module: str, name: str, nodes: Sequence[str] | None = None, **options: Any) -> Worker:
        """A worker that is connected. `nodes`: the target's names of those that it may connect to."""
        addresses = self.stage.target.rabbitmq
        chosen = [node for node in addresses.nodes if nodes is None or node.name in nodes]
        scheme = "amqps" if addresses.ca_file else "amqp"
        login = ":".join(quote(part, safe="") for part in (addresses.user, addresses.password))
        urls = [f"{scheme}://{login}@{node.host}:{node.amqp_port}" for node in chosen]
        place = {"amqp": urls, "ca_file": addresses.ca_file, "vhost": self.stage.namespace, "queue": QUEUE}
        made: Worker = self.stage.start_worker(module, name, {**place, "handler_id": HANDLER, **options})
        made.await_event("ready", READY)
        return made

    def publisher(self, name: str = "publisher", nodes: Sequence[str] | None = None) -> Worker:
        """A publisher that is connected."""
        return self.worker(PUBLISHER, name, nodes, mutant=self.wrong.publisher)

    def consumer(self, name: str = "consumer", nodes: Sequence[str] | None = None, design: str | None = None) -> Worker:
        """A consumer that is connected and does not consume yet. `design`: the wrong one of a negative control."""
        chosen = design or self.wrong.consumer
        return self.worker(CONSUMER, name, nodes, mutant=chosen, victim=self.wrong.victim, prefetch=1)

    def publish(self, worker: Worker, messages: Sequence[Mapping[str, Any]]) -> None:
        """Publishes, and waits until each has an outcome in the ledger."""
        seconds = self.stage.parameters["confirm_seconds"]
        worker.send("publish", events=list(messages), confirm_seconds=seconds)
        worker.await_event("settled", 2 * seconds + READY)
        self.stage.note(f"{len(messages)} published: {self._told()}", "observation")

    def _told(self) -> str:
        outcomes = [one.outcome.value for one in self.stage.ledger.attempts(self.stage.case)]
        return ", ".join(f"{outcomes.count(name)} {name}" for name in sorted(set(outcomes)))

    def hold(self, worker: Worker, hook: str, event_id: str) -> bool:
        """Lets a consumer run until it is held there; whether it was."""
        worker.arm(hook, event_id)
        worker.send("start")
        return self.held(worker, hook, event_id)

    def held(self, worker: Worker, hook: str, event_id: str) -> bool:
        """Whether a worker comes to stand at this hook."""
        try:
            worker.await_event("hook", self.stage.parameters["hook_seconds"], hook=hook, event_id=event_id)
        except WorkerError as error:
            self.stage.note(f"{event_id} was not held at {hook}: {error}", "observation")
            return False
        self.stage.note(f"{worker.name} stands at {hook} with {event_id}", "hook", hook=hook, event_id=event_id)
        return True

    def kill(self, worker: Worker) -> None:
        """SIGKILL as a fault of the run, with its proof: pid and start time are gone."""
        if self.wrong.environment == wrongs.KILL_MISSES:
            worker.release()
            worker.stop()
            return
        number = self.stage.make(KillWorker(worker.name, worker.process.pid, worker.process.started))
        self.stage.bite(number)
        worker.kill()  # takes note of its exit code

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

    def checkpoint(self, name: str) -> Checkpoint:
        """What is committed, through a connection that no worker has; kept as a fact."""
        reader = Reader(self.stage.business_url, self.stage.ledger.run, self.stage.case)
        try:
            found = reader.checkpoint()
        finally:
            reader.close()
        self.stage.fact(name, found.json(), BUSINESS)
        return found

    def outcomes(self, name: str) -> dict[str, list[str]]:
        """ID -> the outcomes of its attempts, in the order of the attempts; kept as a fact."""
        found: dict[str, list[str]] = {}
        for attempt in self.stage.ledger.attempts(self.stage.case):
            found.setdefault(attempt.event_id, []).append(attempt.outcome.value)
        self.stage.fact(name, found, LEDGER)
        return found

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

    def account(self) -> Checkpoint:
        """The facts that the case is reconciled from: effects, quarantine, where each event was last seen."""
        found = self.checkpoint("checkpoint")
        self.stage.fact("effects", dict(found.effects), BUSINESS)
        self.stage.fact("quarantined", sorted({row["event_id"] for row in found.quarantine}), BUSINESS)
        deliveries = self.stage.ledger.rows(tables.deliveries, self.stage.case)
        last = {row["event_id"]: f"handed to {row['worker']} from queue {row['place']}" for row in deliveries}
        self.stage.fact("seen_at", last, LEDGER)
        self.outcomes("outcomes")
        return found

    def deliveries_of(self, event_id: str) -> None:
        """To whom an event was handed, and whether it was marked as redelivered; as the fact `deliveries`."""
        rows = [
            row for row in self.stage.ledger.rows(tables.deliveries, self.stage.case) if row["event_id"] == event_id
        ]
        told = [{"worker": row["worker"], "redelivered": row["redelivered"], **row["detail"]} for row in rows]
        self.stage.fact("deliveries", told, LEDGER)

    def _try(self, claim: str, lack: Callable[[], str | None], seconds: float) -> None:
        try:
            self.stage.wait(claim, lack, seconds)
        except LabTimeoutError as late:
            self.stage.note(str(late), "observation")


def _counts(found: QueueReading | None) -> dict[str, object]:
    if found is None:
        return {"queue": "not told"}
    return {"ready": found.ready, "unacked": found.unacked, "online": len(found.online), "leader": found.leader}
