"""What a poll of many queues costs: a fixed number of requests. Times are noted, not judged: machines differ.

`MQ_TEST_QUEUES=5000` for the size that the specification names.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pika
import pytest

from drills.lab import Lab
from exporter.clients.rabbitmq.http import Answer, Client
from exporter.model.rabbitmq import RabbitSnapshot
from tests.broker.conftest import Management
from tests.broker.labs import amqp
from tests.broker.rabbitmq.conftest import Readers, measured, success, until

QUEUES = int(os.environ.get("MQ_TEST_QUEUES", "999"))
MOST_REQUESTS = 17  # overview, nodes, queues, connections; 5 of topology; 2 of each node; 2 spare URLs


@pytest.fixture
def many(lab: Lab, management: Management) -> Iterator[str]:
    """A vhost with that many queues, a message in each, a third of them on each node. Deleting it takes its time."""
    vhost_name = "many queues"
    management.make_vhost(vhost_name)

    def fill(number: int) -> None:
        parameters = amqp(lab, number, vhost_name)
        with pika.BlockingConnection(parameters) as connection:
            channel = connection.channel()
            for queue in range(QUEUES // 3):
                channel.queue_declare(f"q.{number}.{queue}", durable=True)
                channel.basic_publish("", f"q.{number}.{queue}", b"x")

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(fill, (1, 2, 3)))
    yield vhost_name
    lab.rabbit_node("rabbitmq-1").ctl("delete_vhost", vhost_name, "--timeout", "600")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every path that is asked for."""
    paths: list[str] = []
    get: Callable[..., Answer] = Client.get

    def noting(self: Client, url: str, path: str, login: bool, patience: float, by: float) -> Answer:
        paths.append(f"{url}{path.partition('?')[0]}")
        return get(self, url, path, login, patience, by)

    monkeypatch.setattr(Client, "get", noting)
    return paths


def ready(snapshot: RabbitSnapshot, vhost: str) -> float:
    values = measured(snapshot, "mq_rabbitmq_queue_messages_ready")
    return sum(value for labels, value in values.items() if labels[0] == vhost)


def test_a_poll_asks_as_often_for_many_queues_as_for_one(
    readers: Readers, many: str, asked: list[str], record_property: Callable[[str, object], None]
) -> None:
    reader = readers(slow_interval=0.001)
    until(reader, "every message", lambda seen: ready(seen, many) == QUEUES // 3 * 3)
    asked.clear()
    began, cpu = time.monotonic(), time.process_time()
    snapshot = reader.poll()
    took, used = time.monotonic() - began, time.process_time() - cpu
    for name, value in (("queues", QUEUES), ("poll seconds", round(took, 2)), ("CPU seconds", round(used, 2))):
        record_property(name, value)
    print(f"{QUEUES} queues: a poll took {took:.2f} s, {used:.2f} s of CPU here")  # noqa: T201 - shown with -s
    assert all(success(snapshot).values())
    assert len(asked) <= MOST_REQUESTS, sorted(asked)
