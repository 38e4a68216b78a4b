"""Real brokers for tests: one lab for the whole run, started at the first test that asks for it, always taken down.

`lab` has Kafka and RabbitMQ; `monitored_lab` has Prometheus and Alertmanager too; `breakable_lab` is `lab` for a test
that stops, kills or freezes nodes: it is made whole again afterwards. Names from `fresh_name` belong to one test and
are the same in every run.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pika
import pytest
import requests
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from drills.lab import Lab, lab_names, report_to, take_down
from drills.lab.keys import MONITOR, SECURE
from drills.lab.processes import process_of, tail
from drills.lab.rabbitmq import RabbitMQ
from drills.lab.rabbitmq_security import ALL, NOTHING
from tests import versions
from tests.broker.labs import amqp

BROKERS = ("kafka", "rabbitmq")
MONITORS = ("prometheus", "alertmanager")
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test in this folder is marked `broker`; what runs side by side are its folders, each on one lab."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.broker)
            item.add_marker(pytest.mark.xdist_group(item.path.relative_to(HERE).parts[0]))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test of what this run's versions lack is reported as such; so is one about a plain lab."""
    if feature := versions.lacking(item):
        pytest.skip(versions.LACKING + feature)
    if item.get_closest_marker("plain") and versions.of_this_run().profile == SECURE:
        pytest.skip("about a lab without security")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failed test shows the ends of the nodes' logs."""
    report = yield
    used = [value for value in getattr(item, "funcargs", {}).values() if isinstance(value, Lab)]
    if report.failed and used:
        for node in used[0].nodes.values():
            report.sections.append((f"end of the log of {node.name}", tail(node.logs()[0], 10)))
    return report


@pytest.fixture(scope="session")
def lab_name() -> Iterator[str]:
    """The name of this run's lab. Takes it down at the end; at the start, what killed runs left."""
    for name in lab_names():
        left = re.fullmatch(r"test-(\d+)(-secure)?", name)
        if left and process_of(int(left[1])) is None:
            take_down(name)
    name = f"test-{os.getpid()}"
    try:
        yield name
    finally:
        take_down(name)


def session_lab(request: pytest.FixtureRequest, systems: Sequence[str]) -> Lab:
    """The run's lab with these systems; `MQ_TEST_LAB` names one that is up, for a person who runs one test often."""
    running = os.environ.get("MQ_TEST_LAB")
    name = running or request.getfixturevalue("lab_name")
    return Lab.up(name, systems, settings=None if running else versions.settings(), report=report_to(sys.__stderr__))


@pytest.fixture(scope="session")
def lab(request: pytest.FixtureRequest) -> Lab:
    """Kafka and RabbitMQ, three nodes each."""
    return session_lab(request, BROKERS)


@pytest.fixture(scope="session")
def monitored_lab(lab: Lab) -> Lab:
    """The same lab with Prometheus and Alertmanager."""
    return Lab.up(lab.name, (*BROKERS, *MONITORS), report=report_to(sys.__stderr__))


@pytest.fixture
def breakable_lab(lab: Lab) -> Iterator[Lab]:
    """The same lab, for a test that breaks nodes; afterwards every node serves again."""
    yield lab
    Lab.up(lab.name, BROKERS)


@pytest.fixture
def fresh_name(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """Gives names such as `topic-queue_is_seen-1a2b3c` that belong to this test alone."""
    node: pytest.Item = request.node
    digest = hashlib.sha256(node.nodeid.encode()).hexdigest()[:6]
    slug = re.sub(r"[^a-z0-9_]+", "-", node.name.lower().removeprefix("test_"))[:40].strip("-")
    return lambda kind: f"{kind}-{slug}-{digest}"


@pytest.fixture
def topic_name(fresh_name: Callable[[str], str], kafka_admin: AdminClient) -> Iterator[str]:
    """A topic's name that is free; the topic is deleted afterwards when the test made it."""
    name = fresh_name("topic")
    yield name
    with contextlib.suppress(Exception):  # it may not exist
        kafka_admin.delete_topics([name])[name].result(30)


@pytest.fixture
def group_name(fresh_name: Callable[[str], str]) -> str:
    """A group's id."""
    return fresh_name("group")


@pytest.fixture(scope="session")
def kafka_admin(lab: Lab) -> AdminClient:
    """Kafka's admin client."""
    return AdminClient(lab.kafka.client)


@pytest.fixture
def producer(lab: Lab) -> Iterator[Producer]:
    """A producer that waits for all replicas and creates no topic; flushed afterwards."""
    made = Producer({**lab.kafka.client, "acks": "all", "allow.auto.create.topics": False})
    yield made
    made.flush(10)


class Management:
    """RabbitMQ's HTTP API on one node."""

    def __init__(self, rabbitmq: RabbitMQ) -> None:
        self.url = rabbitmq.urls[0]
        self.users = {rabbitmq.user: ALL} | ({MONITOR: NOTHING} if rabbitmq.keys else {})
        self.session = requests.Session()
        self.session.trust_env = False  # it may name other certificates to trust
        self.session.verify = str(rabbitmq.keys.ca) if rabbitmq.keys else True

    def get(self, path: str) -> Any:
        """The JSON at `/api/PATH`; raises requests.HTTPError."""
        return self._call("GET", path).json()

    def put(self, path: str, body: object = None) -> None:
        """Puts JSON to `/api/PATH`."""
        self._call("PUT", path, body if body is not None else {})

    def post(self, path: str, body: object) -> Any:
        """Posts JSON to `/api/PATH`; what it answers."""
        answer = self._call("POST", path, body)
        return answer.json() if answer.content else None

    def delete(self, path: str) -> None:
        """Deletes `/api/PATH`."""
        self._call("DELETE", path)

    def make_vhost(self, name: str) -> None:
        """Makes a virtual host in which the tests' user may do everything, and the monitor may look."""
        path = quote(name, safe="")
        self.put(f"vhosts/{path}")
        for user, what in self.users.items():
            self.put(f"permissions/{path}/{user}", {"configure": what, "write": what, "read": what})

    def _call(self, method: str, path: str, body: object = None) -> requests.Response:
        answer = self.session.request(method, f"{self.url}/api/{path}", json=body, timeout=10)
        answer.raise_for_status()
        return answer


@pytest.fixture(scope="session")
def management(lab: Lab) -> Iterator[Management]:
    """The HTTP API of rabbitmq-1."""
    made = Management(lab.rabbitmq)
    yield made
    made.session.close()


@pytest.fixture
def vhost_name(fresh_name: Callable[[str], str], management: Management) -> Iterator[str]:
    """A virtual host of this test alone, deleted afterwards."""
    name = fresh_name("vhost")
    management.make_vhost(name)
    yield name
    management.delete(f"vhosts/{quote(name, safe='')}")


@pytest.fixture
def rabbit_connection(lab: Lab, vhost_name: str) -> Iterator[pika.BlockingConnection]:
    """A connection to rabbitmq-1 in the test's own virtual host."""
    made = pika.BlockingConnection(amqp(lab, 1, vhost_name))
    yield made
    if made.is_open:
        made.close()
