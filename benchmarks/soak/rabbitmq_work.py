"""RabbitMQ's workload: queues that come and go, one that stands still, one that fills, one that drains.

What is published counts when it is confirmed and may be there from the moment it was tried. What is taken counts when
the broker has said a lower depth.

usage: python -m benchmarks.soak.rabbitmq_work PORT,PORT,PORT BOOK GENERATION
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pika
from pika.adapters.blocking_connection import BlockingChannel
from pika.exceptions import AMQPError

from benchmarks.soak.truth import Book

VISIT_EVERY, VISIT_FOR, STEP_EVERY = 15.0, 75.0, 2.0  # seconds
FIRST = {"still": 12, "filling": 3, "draining": 40}
QUORUM = {"x-queue-type": "quorum", "x-quorum-initial-group-size": 3}


class Visit:
    """One queue and what was done to it."""

    def __init__(self, name: str, kind: str) -> None:
        self.name, self.kind = name, kind
        self.tried = self.confirmed = self.taken = 0
        self.born = self.stepped_at = 0.0


class RabbitWork:
    """One connection at a time, to whichever node answers."""

    def __init__(self, ports: list[int], book: Book, generation: str) -> None:
        self.ports, self.book, self.generation = ports, book, generation
        self.stop = threading.Event()
        self.connection: pika.BlockingConnection | None = None
        self.channel: BlockingChannel | None = None
        self.visits: list[Visit] = []
        self.begun = 0
        self.visited_at = 0.0

    def run(self) -> None:
        """Until the process is ended."""
        while not self.stop.wait(0.5):
            now = time.time()
            if now - self.visited_at >= VISIT_EVERY:
                self.visited_at = now
                kind = list(FIRST)[self.begun % len(FIRST)]
                self.arrive(Visit(f"soak-visit-{self.generation}-{self.begun}", kind))
                self.begun += 1
            for visit in list(self.visits):
                if time.time() - visit.born > VISIT_FOR:
                    self.leave(visit)
                elif time.time() - visit.stepped_at > STEP_EVERY:
                    self.step(visit)
            if self.connection is not None:
                self.attempt(lambda _: self.connection.process_data_events(0))  # type: ignore[union-attr]

    def attempt(self, work: Callable[[BlockingChannel], Any]) -> tuple[bool, Any]:
        """Whether it was done, and what it gave. A failure closes the connection; the next attempt has another."""
        try:
            if self.channel is None:
                self.connect()
            assert self.channel is not None
            return True, work(self.channel)
        except (AMQPError, OSError) as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            self.connection = self.channel = None
            return False, None

    def connect(self) -> None:
        """A connection to the first node that takes one; that node is tried last the next time."""
        self.ports = [*self.ports[1:], self.ports[0]]
        parameters = [
            pika.ConnectionParameters("127.0.0.1", port, heartbeat=10, blocked_connection_timeout=30, socket_timeout=10)
            for port in self.ports
        ]
        self.connection = pika.BlockingConnection(parameters)
        self.channel = self.connection.channel()
        self.channel.confirm_delivery()

    def arrive(self, visit: Visit) -> None:
        """Declare it, publish its first messages, and only then say that it is there."""
        while not self.stop.is_set() and not self.attempt(self.declaring(visit))[0]:
            self.stop.wait(0.5)
        first = time.time()
        while not self.stop.is_set() and visit.confirmed < FIRST[visit.kind]:
            self.publish(visit)
            if visit.confirmed == 1 and visit.kind != "draining":
                self.book.write("waits", key=[visit.name], low=first, high=time.time())
        if visit.kind != "filling":
            self.book.write("ceiling", key=["in", visit.name], at=None, value=visit.tried)
        if visit.kind != "draining":
            self.book.write("ceiling", key=["out", visit.name], at=None, value=0)
        visit.born = time.time()
        self.book.write("floor", key=["out", visit.name], at=visit.born, value=0)
        parts = [["depth", visit.name]]
        self.book.write("born", kind="queue", name=visit.name, at=visit.born, parts=parts)
        self.visits.append(visit)

    def declaring(self, visit: Visit) -> Callable[[BlockingChannel], Any]:
        """The declaration of its queue."""
        return lambda channel: channel.queue_declare(visit.name, durable=True, arguments=QUORUM)

    def publish(self, visit: Visit) -> None:
        """Try one message."""
        self.book.write("ceiling", key=["in", visit.name], at=time.time(), value=visit.tried)
        visit.tried += 1
        properties = pika.BasicProperties(delivery_mode=2)
        ok, _ = self.attempt(lambda channel: channel.basic_publish("", visit.name, b"x" * 50, properties, True))
        if ok:
            visit.confirmed += 1
            self.book.write("floor", key=["in", visit.name], at=time.time(), value=visit.confirmed)

    def step(self, visit: Visit) -> None:
        """One message more or one less."""
        visit.stepped_at = time.time()
        if visit.kind == "filling":
            self.publish(visit)
        elif visit.kind == "draining" and visit.taken < FIRST["draining"] - 1:
            self.take(visit)

    def take(self, visit: Visit) -> None:
        """Take one message for good; what the broker then says is left tells how many are gone."""
        self.book.write("ceiling", key=["out", visit.name], at=time.time(), value=visit.taken)
        visit.taken += 1  # from here on it may be gone
        ok, _ = self.attempt(lambda channel: channel.basic_get(visit.name, auto_ack=True))
        if not ok:
            return
        ok, answer = self.attempt(lambda channel: channel.queue_declare(visit.name, passive=True))
        if ok:
            left = answer.method.message_count
            gone = max(visit.confirmed - left, 0)
            self.book.write("floor", key=["out", visit.name], at=time.time(), value=gone)

    def leave(self, visit: Visit) -> None:
        """Delete it; at the next turn again when that fails."""
        now = time.time()
        self.book.write("ceiling", key=["in", visit.name], at=now, value=visit.tried)
        self.book.write("ceiling", key=["out", visit.name], at=now, value=visit.taken)
        self.book.write("dying", kind="queue", name=visit.name, at=now)
        ok, _ = self.attempt(lambda channel: channel.queue_delete(visit.name))
        if ok:
            self.visits.remove(visit)
            self.book.write("gone", kind="queue", name=visit.name, at=time.time())


if __name__ == "__main__":
    RabbitWork([int(port) for port in sys.argv[1].split(",")], Book(Path(sys.argv[2])), sys.argv[3]).run()
