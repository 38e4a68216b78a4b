"""Fixtures for Kafka alone. MQOPS_TEST_KAFKA names brokers that already run, for a quick turn without a lab."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from drills.lab import Lab
from drills.lab.kafka import Kafka
from tests.broker.conftest import session_lab
from tests.broker.kafka.lag_world import LagWorld
from tests.broker.kafka.record_world import RecordWorld


@pytest.fixture(scope="session")
def lab(request: pytest.FixtureRequest) -> Lab:
    """Kafka, three nodes."""
    return session_lab(request, ("kafka",))


@pytest.fixture
def breakable_lab(lab: Lab) -> Iterator[Lab]:
    """The same lab, for a test that breaks nodes; afterwards every node serves again."""
    yield lab
    Lab.up(lab.name, ("kafka",))


@pytest.fixture(scope="session")
def kafka_cluster(request: pytest.FixtureRequest) -> Kafka | str:
    """The lab's Kafka, or HOST:PORT of the brokers, separated by commas."""
    running = os.environ.get("MQOPS_TEST_KAFKA")
    if running is not None:
        return running
    lab: Lab = request.getfixturevalue("lab")
    return lab.kafka


@pytest.fixture(scope="session")
def world(kafka_cluster: Kafka | str) -> Iterator[RecordWorld]:
    """The cluster as the tests of record ages see it; its topics are deleted at the end."""
    made = RecordWorld(kafka_cluster)
    yield made
    made.close()


@pytest.fixture
def kafka(kafka_cluster: Kafka | str) -> Iterator[LagWorld]:
    """The cluster as the tests of the reader see it; what a test makes is taken away."""
    made = LagWorld(kafka_cluster)
    yield made
    made.close()
