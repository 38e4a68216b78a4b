"""An exporter on the lab, and what its tests write with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from drills.lab import Lab
from tests.broker.conftest import Management
from tests.broker.exporter.process import Exporter, kafka_of, rabbitmq_of, running
from tests.broker.kafka.lag_world import LagWorld


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the module's exporters keep configuration and log."""
    return tmp_path_factory.mktemp("exporter")


@pytest.fixture(scope="module")
def exporter(lab: Lab, folder: Path) -> Iterator[Exporter]:
    """One exporter on the whole lab, ready. Modules that need another configuration have their own."""
    with running(folder, {"kafka": [kafka_of(lab)], "rabbitmq": [rabbitmq_of(lab)]}) as started:
        yield started


@pytest.fixture(scope="module")
def kafka(lab: Lab) -> Iterator[LagWorld]:
    """Kafka as a writer; what the module makes is taken away."""
    made = LagWorld(lab.kafka)
    yield made
    made.close()


@pytest.fixture(scope="module")
def vhost(request: pytest.FixtureRequest, management: Management) -> Iterator[str]:
    """A virtual host for the module, deleted afterwards."""
    name = f"proof {request.module.__name__.rpartition('.')[2]}"
    path = quote(name, safe="")
    if any(found["name"] == name for found in management.get("vhosts")):
        management.delete(f"vhosts/{path}")  # a killed run left it
    management.make_vhost(name)
    yield name
    management.delete(f"vhosts/{path}")
