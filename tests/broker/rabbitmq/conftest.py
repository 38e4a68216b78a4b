"""A reader on the lab's RabbitMQ, and ways to wait for what it should see."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar
from urllib.parse import quote

import pika
import pytest

from drills.lab import Lab
from exporter.clients.rabbitmq.reader import RabbitReader
from exporter.config.model import RabbitMQ
from exporter.metrics import registry
from exporter.metrics.family import Labels
from exporter.model.rabbitmq import Queue, QueueName, RabbitSnapshot
from tests.broker.conftest import session_lab

T = TypeVar("T")
PATIENCE = 90.0  # seconds: the machine that runs the tests may be very busy
NO_EVENT = threading.Event()  # never set: waiting on it is waiting for a moment between two looks at a broker


@pytest.fixture(scope="session")
def lab(request: pytest.FixtureRequest) -> Lab:
    """RabbitMQ, three nodes."""
    return session_lab(request, ("rabbitmq",))


@pytest.fixture
def breakable_lab(lab: Lab) -> Iterator[Lab]:
    """The same lab, for a test that breaks nodes; afterwards every node serves again."""
    yield lab
    Lab.up(lab.name, ("rabbitmq",))


def plain_urls(lab: Lab) -> tuple[str, ...]:
    """Management URLs without user and password."""
    return tuple(lab.rabbitmq.plain_urls)


def cli_of(lab: Lab) -> dict[str, Any]:
    """Settings with which the reader may run rabbitmqctl."""
    return {"cli": tuple(lab.rabbitmq.cli), "cli_env": lab.rabbitmq.cli_environment}


Readers = Callable[..., RabbitReader]


@pytest.fixture
def readers(lab: Lab) -> Iterator[Readers]:
    """Makes readers of the lab; settings given by name override the lab's. All are closed afterwards."""
    made: list[RabbitReader] = []

    def make(**settings: Any) -> RabbitReader:
        given = {"cluster": "lab", **lab.rabbitmq.watched(), "timeout": 30.0, **settings}
        made.append(RabbitReader(RabbitMQ(**given)))
        return made[-1]

    yield make
    for reader in made:
        reader.close()


@pytest.fixture
def channel(rabbit_connection: pika.BlockingConnection) -> Any:
    """A channel with confirms in the test's own vhost."""
    opened = rabbit_connection.channel()
    opened.confirm_delivery()
    return opened


def until(reader: RabbitReader, what: str, seen: Callable[[RabbitSnapshot], T | None], seconds: float = PATIENCE) -> T:
    """Polls until `seen` gives something that is not None or False. Fails with what was seen last."""
    deadline = time.monotonic() + seconds
    while True:
        snapshot = reader.poll()
        found = seen(snapshot)
        if found is not None and found is not False:
            return found
        if time.monotonic() > deadline:
            runs = [(run.name, run.problems, dict(run.skipped)) for run in snapshot.runs]
            raise AssertionError(f"not within {seconds:.0f} s: {what}; last: {snapshot.queues} {runs}")
        NO_EVENT.wait(0.5)


def queue_of(snapshot: RabbitSnapshot, vhost: str, name: str) -> Queue | None:
    """One queue of a snapshot."""
    return next((queue for queue in snapshot.queues if queue.id == QueueName(vhost, name)), None)


def depth(snapshot: RabbitSnapshot, vhost: str, name: str) -> tuple[int | None, int | None] | None:
    """Ready and unacknowledged."""
    queue = queue_of(snapshot, vhost, name)
    return None if queue is None else (queue.ready, queue.unacknowledged)


def measured(snapshot: RabbitSnapshot, family: str) -> dict[Labels, float]:
    """The samples of one family, as the page will have them."""
    families, faults = registry.measure(snapshot)
    assert not faults
    return next(samples for found, samples in families.items() if found.name == family)


def path_of(vhost: str) -> str:
    """A vhost as a part of a management path."""
    return quote(vhost, safe="")


def success(snapshot: RabbitSnapshot) -> dict[str, bool]:
    """Collector -> whether it read all it should."""
    return {run.name: run.success for run in snapshot.runs}
