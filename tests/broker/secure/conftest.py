"""The secure lab: the run's own where that is one (`MQ_TEST_PROFILE=secure`), else a second one for these tests."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

from drills.lab import Lab, Settings, report_to, take_down
from drills.lab.keys import SECURE
from tests import versions
from tests.broker.conftest import BROKERS, Management
from tests.broker.kafka.lag_world import LagWorld


@pytest.fixture(scope="package")
def secure_lab(request: pytest.FixtureRequest, lab_name: str) -> Iterator[Lab]:
    """Kafka and RabbitMQ with TLS, logins and rights."""
    if versions.of_this_run().profile == SECURE:
        yield request.getfixturevalue("lab")
        return
    name = f"{lab_name}-secure"
    settings = replace(versions.settings() or Settings(), profile=SECURE)
    try:
        yield Lab.up(name, BROKERS, settings=settings, report=report_to(sys.__stderr__))
    finally:
        take_down(name)


@pytest.fixture(scope="package")
def administration(secure_lab: Lab) -> Iterator[Management]:
    """The HTTP API of rabbitmq-1."""
    made = Management(secure_lab.rabbitmq)
    yield made
    made.session.close()


@pytest.fixture
def kafka(secure_lab: Lab) -> Iterator[LagWorld]:
    """Kafka as a writer; what a test makes is taken away."""
    made = LagWorld(secure_lab.kafka)
    yield made
    made.close()
