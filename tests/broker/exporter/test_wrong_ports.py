"""Ports of the other system, on real brokers: told as the table of connection errors says."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from drills.lab import Lab
from exporter.clients.kafka.reader import KafkaReader
from exporter.clients.rabbitmq.reader import RabbitReader
from exporter.config.model import Kafka, RabbitMQ
from exporter.model.common import Kind
from tests.unit.errors import kafka_cases, rabbitmq_cases
from tests.unit.errors.case import Cases

pytestmark = pytest.mark.plain


def known(cases: Cases, *names: str) -> set[tuple[Kind, str]]:
    found = {(case.kind, case.text) for case in cases if case.name in names}
    assert len(names) == len(found)
    return found


def port_of(url: str) -> int:
    port = urlsplit(url).port
    assert port is not None
    return port


@pytest.mark.parametrize("what", ["amqp", "management", "metrics"])
def test_a_port_of_rabbitmq_is_told_from_kafkas(lab: Lab, what: str) -> None:
    """RabbitMQ greets and resets the connection at once, so that its greeting may be lost."""
    urls = {"amqp": lab.rabbitmq.amqp, "management": lab.rabbitmq.urls, "metrics": lab.rabbitmq.metrics}[what]
    address = f"127.0.0.1:{port_of(urls[0])}"
    reader = KafkaReader(Kafka(bootstrap_servers=(address,), timeout=30.0))
    snapshot = reader.poll()
    reader.close()
    (problem,) = next(run for run in snapshot.runs if run.name == "topics").problems
    greeting = "rabbitmqs amqp port" if what == "amqp" else "an http server"
    told = (problem.kind, problem.detail.replace(address, "HERE"))
    assert told in known(kafka_cases.CASES, greeting, "a peer that closes at once")


def test_a_port_of_kafka_is_told_from_rabbitmqs(lab: Lab) -> None:
    url = f"http://{lab.kafka.bootstrap.split(',')[0]}"
    reader = RabbitReader(RabbitMQ(urls=(url,), timeout=30.0, node_metrics=False))
    snapshot = reader.poll()
    reader.close()
    (problem,) = next(run for run in snapshot.runs if run.name == "overview").problems
    told = (problem.kind, problem.detail.replace(url, "HERE"))
    assert {told} == known(rabbitmq_cases.CASES, "a peer that closes at once")
