"""What the tests of public reports share: Kafka for those about Kafka, RabbitMQ for the others, each only if needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from drills.lab import Lab
from exporter.clients.kafka.brokers import Brokers, Request
from exporter.clients.kafka.reader import KafkaReader
from exporter.metrics import registry
from exporter.metrics.family import Labels
from exporter.model.kafka import KafkaSnapshot
from tests.broker.conftest import session_lab
from tests.broker.kafka.lag_world import LagWorld
from tests.broker.rabbitmq import conftest as rabbitmq

Name = Callable[[str], str]
Samples = dict[Labels, float]

# the fixtures of RabbitMQ's own tests; `lab` here has RabbitMQ alone
lab, breakable_lab, readers, channel = rabbitmq.lab, rabbitmq.breakable_lab, rabbitmq.readers, rabbitmq.channel


@pytest.fixture(scope="session")
def kafka_lab(request: pytest.FixtureRequest) -> Lab:
    """Kafka, three nodes."""
    return session_lab(request, ("kafka",))


@pytest.fixture(scope="module")
def kafka(kafka_lab: Lab) -> Iterator[LagWorld]:
    """The cluster as the tests write to it; what a module makes is taken away at its end."""
    made = LagWorld(kafka_lab.kafka)
    yield made
    made.close()


def measured(snapshot: KafkaSnapshot, family: str) -> Samples:
    """The samples of one family as the page will have them, by their labels."""
    families, faults = registry.measure(snapshot)
    assert not faults
    return dict(next(samples for found, samples in families.items() if found.name == family))


@contextmanager
def asked(reader: KafkaReader) -> Iterator[list[Request]]:
    """Fills with every request that the reader sends meanwhile."""
    sent: list[Request] = []
    ask = Brokers.ask

    def noting(brokers: Brokers, requests):  # type: ignore[no-untyped-def]
        if brokers is reader._parts.brokers:
            sent.extend(request for one in requests.values() for request in one)
        return ask(brokers, requests)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Brokers, "ask", noting)
        yield sent
