"""Databases for the tests of the drills, a lab with RabbitMQ alone, and workers without a drill around them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests

from drills.actors.worker import Worker, start
from drills.business.checkpoint import Reader
from drills.business.handling import Business
from drills.lab import Lab
from drills.ledger import Ledger
from drills.ledger.database import sqlite_url
from drills.witness.rabbitmq import RabbitWitness
from tests import postgresql
from tests.broker.conftest import session_lab

CONSUMER, PUBLISHER = "drills.actors.rabbitmq_consumer", "drills.actors.rabbitmq_publisher"
QUORUM = {"durable": True, "arguments": {"x-queue-type": "quorum", "x-delivery-limit": 20}}


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[postgresql.Server]:
    """One server for the whole run."""
    with postgresql.running() as server:
        yield server


@pytest.fixture
def postgresql_url(postgresql_server: postgresql.Server, fresh_name: Callable[[str], str]) -> str:
    """The URL of an empty database of this test's own."""
    return postgresql_server.fresh(fresh_name("db"))


@pytest.fixture(scope="session")
def rabbitmq_lab(request: pytest.FixtureRequest) -> Lab:
    """RabbitMQ, three nodes."""
    return session_lab(request, ("rabbitmq",))


@dataclass
class Bench:
    """One case without a drill: a vhost, a queue, a ledger, a business database, and the workers started so far."""

    lab: Lab
    vhost: str
    ledger: Ledger
    business_url: str
    folder: Path
    workers: list[Worker]

    def start(self, module: str, name: str, **options: Any) -> Worker:
        """A worker that is ready."""
        nodes = [url.removesuffix("/%2F") for url in self.lab.rabbitmq.amqp]
        given = {"amqp": nodes, "vhost": self.vhost, "queue": "work", "business_url": self.business_url}
        worker = start(
            module, name, {**given, "handler_id": "counter", **options},
            ledger=self.ledger, case="case", log=self.folder / f"{name}.log",
        )  # fmt: skip
        self.workers.append(worker)
        worker.await_event("ready", 30)
        return worker

    def publish(self, worker: Worker, *events: dict[str, Any], seconds: float = 20) -> None:
        """Publishes and waits until each has an outcome."""
        worker.send("publish", events=list(events), confirm_seconds=seconds)
        worker.await_event("settled", seconds + 20)

    @property
    def witness(self) -> RabbitWitness:
        """The management API."""
        rabbitmq = self.lab.rabbitmq
        return RabbitWitness(rabbitmq.plain_urls, rabbitmq.user, rabbitmq.password)

    @property
    def reader(self) -> Reader:
        """The second connection."""
        return Reader(self.business_url, self.ledger.run, "case")


@pytest.fixture
def bench(rabbitmq_lab: Lab, tmp_path: Path, fresh_name: Callable[[str], str]) -> Iterator[Bench]:
    vhost = fresh_name("vhost")
    ledger = Ledger(sqlite_url(tmp_path / "ledger.db"), "run")
    ledger.create()
    url = sqlite_url(tmp_path / "business.db")
    business = Business(url, "run", "case", "counter")
    business.create()
    business.close()
    api, login = rabbitmq_lab.rabbitmq.plain_urls[0], (rabbitmq_lab.rabbitmq.user, rabbitmq_lab.rabbitmq.password)
    made = Bench(rabbitmq_lab, vhost, ledger, url, tmp_path, [])
    with requests.Session() as session:
        session.trust_env, session.auth = False, login
        session.put(f"{api}/api/vhosts/{vhost}", timeout=20).raise_for_status()
        try:
            session.put(f"{api}/api/queues/{vhost}/work", json=QUORUM, timeout=20).raise_for_status()
            yield made
        finally:
            for worker in made.workers:
                worker.kill()
            session.delete(f"{api}/api/vhosts/{vhost}", timeout=20).raise_for_status()
