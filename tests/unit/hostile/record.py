"""Records what real brokers answer to one reader, for the tests that damage these answers.

    mq-drill lab up NAME --only kafka      then: python -m tests.unit.hostile.record kafka NAME
    mq-drill lab up NAME --only rabbitmq   then: python -m tests.unit.hostile.record rabbitmq NAME

Everything is made anew in an empty lab whose login is `guest`; the recordings hold answers only, so no secret.
"""

from __future__ import annotations

import gzip
import json
import sys
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pika
import pytest
import requests
from confluent_kafka import Producer

from drills.lab import Lab
from exporter.clients.kafka.connection import Connection, Request
from exporter.clients.kafka.reader import KafkaReader
from exporter.clients.rabbitmq.http import Answer, Client
from exporter.clients.rabbitmq.reader import RabbitReader
from exporter.config.model import Kafka, RabbitMQ
from tests.broker.kafka.lag_world import LagWorld
from tests.unit.hostile.recordings import KAFKA, RABBITMQ, digest

POLLS = 3
PAUSE = threading.Event()  # never set


def kafka(lab: Lab) -> None:
    """Topics of every kind, groups of three types with and without members."""
    found: dict[tuple[Any, ...], bytes] = {}
    with pytest.MonkeyPatch.context() as patch, _kafka_world(lab.kafka.bootstrap):
        _record_kafka(patch, found)
        reader = KafkaReader(Kafka(bootstrap_servers=tuple(lab.kafka.bootstrap.split(",")), slow_interval=0.1))
        for _ in range(POLLS):
            snapshot = reader.poll()
        reader.close()
    _report(snapshot.runs)
    answers = [[*key, b64encode(neutral(body, lab.folder)).decode()] for key, body in found.items()]
    _write(KAFKA, {"bootstrap": lab.kafka.bootstrap.split(","), "answers": answers})


def _record_kafka(patch: pytest.MonkeyPatch, found: dict[tuple[Any, ...], bytes]) -> None:
    """(address, api key, version, digest of the request) -> answer."""
    asked: dict[int, list[Request]] = {}
    queue, end = Connection.queue, Connection._end_frame

    def queued(self: Connection, given: Any) -> None:
        taken = list(given)
        asked.setdefault(id(self), []).extend(taken)
        queue(self, taken)

    def ended(self: Connection, frame: bytes) -> None:
        end(self, frame)
        request = asked[id(self)].pop(0)
        key = (self.address, request.api_key, request.version, digest(request.body))
        found.setdefault(key, self.answers[-1])

    patch.setattr(Connection, "queue", queued)
    patch.setattr(Connection, "_end_frame", ended)


@contextmanager
def _kafka_world(bootstrap: str) -> Iterator[LagWorld]:
    world = LagWorld(bootstrap)
    try:
        world.create("orders", 4)
        world.create("orders.dlq", 1)
        world.create("state", 2, cleanup_policy="compact")
        world.create("sizes", 1)
        for partition in range(3):
            world.produce("orders", 20, partition)
        world.produce("orders.dlq", 3)
        _produce(bootstrap, "state", {"compression.type": "gzip"}, 30)
        _produce(bootstrap, "sizes", {"compression.type": "lz4"}, 5)
        _transactions(bootstrap, "state")
        world.delete_records("orders", 5, 1)
        world.commit("billing", "orders", {0: 12, 1: 2, 2: 20})
        world.commit("billing", "sizes", {0: 1})
        world.commit("größe", "state", {0: 3, 1: 0})
        with ExitStack() as stack:
            stack.enter_context(world.members("shipping", "orders", 2))
            stack.enter_context(world.members("modern", "orders", 1, **{"group.protocol": "consumer"}))
            yield world
    finally:
        world.close()


def _produce(bootstrap: str, topic: str, config: dict[str, Any], count: int) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50, **config})
    for number in range(count):
        producer.produce(topic, b"some value that can be compressed " * 3, key=str(number % 7).encode(), partition=0)
    producer.flush(30)


def _transactions(bootstrap: str, topic: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "recorded"})
    producer.init_transactions(30)
    for end in (producer.abort_transaction, producer.commit_transaction):
        producer.begin_transaction()
        producer.produce(topic, b"value", key=b"k", partition=1)
        producer.flush(30)
        end(30)


def rabbitmq(lab: Lab) -> None:
    """Queues of every type, dead letters by argument and by policy, consumers and streams, in two vhosts."""
    found: dict[str, bytes] = {}
    url = lab.rabbitmq.urls[0]
    plain = tuple(f"http://{each.partition('@')[2]}" for each in lab.rabbitmq.urls)
    with pytest.MonkeyPatch.context() as patch, _rabbitmq_world(lab, url):
        _record_rabbitmq(patch, found)
        reader = RabbitReader(RabbitMQ(urls=plain, slow_interval=0.1, timeout=30.0))
        for _ in range(POLLS):
            snapshot = reader.poll()
        nodes = {node: urls[0] for node, urls in reader.endpoints.urls.items()}
        reader.close()
    _report(snapshot.runs)
    answers = {where: neutral(body, lab.folder).decode() for where, body in found.items()}
    _write(RABBITMQ, {"urls": plain, "nodes": nodes, "answers": answers})


def _record_rabbitmq(patch: pytest.MonkeyPatch, found: dict[str, bytes]) -> None:
    """URL -> body. The last answer counts: statistics come some seconds late."""
    get = Client.get

    def got(self: Client, url: str, path: str, *more: Any) -> Answer:
        answer = get(self, url, path, *more)
        found[url + path] = answer.body
        return answer

    patch.setattr(Client, "get", got)


@contextmanager
def _rabbitmq_world(lab: Lab, url: str) -> Iterator[None]:
    def put(path: str, body: dict[str, Any]) -> None:
        requests.put(f"{url}/api/{path}", json=body, timeout=60).raise_for_status()

    put("vhosts/shop", {})
    put("permissions/shop/guest", {"configure": ".*", "write": ".*", "read": ".*"})
    put("exchanges/shop/dlx", {"type": "topic", "durable": True})
    policy = {"pattern": "^work", "definition": {"dead-letter-exchange": "dlx"}, "apply-to": "queues"}
    put("policies/shop/dead", policy)
    for vhost, name, arguments in (
        ("shop", "work", {}),
        ("shop", "work.quorum", {"x-queue-type": "quorum"}),
        ("shop", "größe", {"x-max-length": 10}),
        ("shop", "events", {"x-queue-type": "stream"}),
        ("/", "retry", {"x-message-ttl": 60000, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "work"}),
        ("/", "work", {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}),
        ("/", "dead", {}),
        ("shop", "dead", {}),
    ):
        put(f"queues/{quote(vhost, safe='')}/{quote(name, safe='')}", {"durable": True, "arguments": arguments})
    requests.post(f"{url}/api/bindings/shop/e/dlx/q/dead", json={"routing_key": "#"}, timeout=60).raise_for_status()
    connection = pika.BlockingConnection(
        pika.ConnectionParameters("127.0.0.1", urlsplit(lab.rabbitmq.amqp[0]).port, virtual_host="shop")
    )
    channel = connection.channel()
    channel.confirm_delivery()
    for name in ("work", "work.quorum", "größe", "events", "dead"):
        for _ in range(7):
            channel.basic_publish("", name, b"message", pika.BasicProperties(delivery_mode=2))
    channel.basic_qos(prefetch_count=2)
    channel.basic_consume("work", lambda *_: None)
    until = time.monotonic() + 12  # statistics of queues are counted every five seconds
    while time.monotonic() < until:
        connection.process_data_events(0.5)
    try:
        yield
    finally:
        connection.close()


def neutral(body: bytes, folder: Path) -> bytes:
    """Without the place of the lab on this machine; lengths stay what they were."""
    here = str(folder).encode()
    return body.replace(here, b"/var/lib/recorded".ljust(len(here), b"_")[: len(here)])


def _report(runs: Any) -> None:
    for run in runs:
        sys.stdout.write(f"{run.name}: {'read' if run.success else run.problems}\n")


def _write(path: Path, found: dict[str, Any]) -> None:
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    sys.stdout.write(f"{path}: {path.stat().st_size} bytes, {len(found['answers'])} answers\n")


RECORDERS: dict[str, Callable[[Lab], None]] = {"kafka": kafka, "rabbitmq": rabbitmq}

if __name__ == "__main__":
    system, name = sys.argv[1:]
    RECORDERS[system](Lab.up(name, (system,)))
