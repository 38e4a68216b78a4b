"""A real poller on readers that answer from literals, and a real server on a free port."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from exporter.config.model import Config, Kafka, Web
from exporter.http_site import Site
from exporter.log import StateLog
from exporter.model.common import ClusterSnapshot, CollectorRun, DeadLetterQueue, Disk, Kind, Problem
from exporter.model.kafka import KafkaSnapshot
from exporter.poll import Poller, Section
from exporter.reload import Reloader
from exporter.server import Limits, Server

TIMEOUT = Problem(Kind.TIMEOUT, "broker 2", "no answer within 5 s")
Answer = Callable[[], ClusterSnapshot]


class FakeReader:
    """All that a poller knows of a reader."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    def poll(self) -> ClusterSnapshot:
        return self.answer()

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        pass

    def close(self) -> None:
        pass


def snapshot(name: str, *problems: Problem, queues: int = 1, label: str = "q") -> ClusterSnapshot:
    run = CollectorRun("topics", not problems, time.time(), 0.1, 15.0, problems)
    dead = tuple(DeadLetterQueue(f"{label}{number}", "/", 3, 3, 61.5, None, None) for number in range(queues))
    return KafkaSnapshot(
        name, "kafka", time.time(), 15.0, (run,), {"h:1": True}, disks=(Disk("1", "/d", 5, 1, False),),
        dead_letter_queues=dead,
    )  # fmt: skip


def config(*names: str, interval: float = 15.0, **web: Any) -> Config:
    clusters = tuple(Kafka(cluster=name, bootstrap_servers=("h:1",), interval=interval) for name in names)
    return Config(kafka=clusters, web=Web(**web))


def poller_of(answers: dict[str, Answer], interval: float = 15.0, **web: Any) -> Poller:
    def reader(section: Section) -> FakeReader:
        return FakeReader(answers[section.cluster])

    return Poller(config(*answers, interval=interval, **web), reader)


def site_of(poller: Poller, load: Callable[[], Config] | None = None) -> Site:
    return Site(poller, Reloader(poller, load, StateLog()))


@contextmanager
def served(poller: Poller, limits: Limits | None = None, address: str = "127.0.0.1:0") -> Iterator[Server]:
    server = Server(address, site_of(poller), limits)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def connect(server: Server) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.server_port), timeout=20)


def ends(connection: socket.socket, within: float) -> bool:
    """Whether the server ends this connection in time."""
    connection.settimeout(within)
    try:
        while connection.recv(65536):
            pass
    except TimeoutError:
        return False
    except OSError:
        pass
    return True


def wait_for(claim: Callable[[], bool], what: str, seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while not claim():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        pause.wait(0.01)
