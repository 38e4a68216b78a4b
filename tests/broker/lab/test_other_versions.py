"""A lab of an older Kafka, and what the exporter's reader makes of it. All of the versions: `make test-matrix`."""

from __future__ import annotations

from collections.abc import Callable

from drills.lab import Lab
from drills.lab.record import Settings
from tests.broker.kafka.lag_world import LagWorld, lags, problems, row_of
from tests.broker.lab.conftest import NOTHING, traces


def test_kafka_3_9_is_read_without_a_problem_and_leaves_nothing(other_name: Callable[[str], str]) -> None:
    lab = Lab.up(other_name("old"), ["kafka"], settings=Settings(kafka_version="3.9.2"))
    assert "Kafka version: 3.9.2" in lab.node("kafka-1").log.read_text(errors="replace")
    kafka = LagWorld(lab.kafka)
    try:
        kafka.produce(kafka.create("old"), 5)
        kafka.commit("reader", "old", {0: 2})
        snapshot = kafka.reader("old", "reader").poll()
        assert ({}, {0: 3}) == (problems(snapshot), lags(row_of(snapshot, "reader", "old")))
        assert {"reader": "classic"} == {group.name: group.type for group in snapshot.groups}
    finally:
        kafka.close()
    lab.down()
    assert NOTHING == traces(lab.folder, lab.ports.base)
