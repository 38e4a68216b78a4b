"""A target with Kafka and RabbitMQ."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from drills.targets import file as target_file
from exporter.config.load import load
from tests.broker.conftest import session_lab


def test_its_exporter_takes_both_clusters(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """They had one name once, and the exporter refused to start: a run on a whole lab could not begin."""
    lab = session_lab(request, ("kafka", "rabbitmq"))
    config = tmp_path / "exporter.yaml"
    config.write_text(json.dumps(target_file.find(lab.name).exporter_config()))
    found = load(config)
    names = ([one.cluster for one in found.kafka], [one.cluster for one in found.rabbitmq])
    assert ([f"{lab.name}-kafka"], [f"{lab.name}-rabbitmq"]) == names
