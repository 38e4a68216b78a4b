"""The guard of in-sync replicas, on a real Kafka cluster."""

from __future__ import annotations

from collections.abc import Container

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from drills.engine import guards
from drills.engine.errors import Refused
from drills.faults.kill_node import KillNode
from drills.lab import Lab
from drills.lab.waiting import wait_for
from drills.targets import file as target_file
from drills.targets import kafka_isr
from drills.targets.target import Target
from tests.broker.conftest import session_lab
from tests.tiny.catalog.tiny import Setting


@pytest.fixture
def kafka_lab(request: pytest.FixtureRequest) -> Lab:
    return session_lab(request, ("kafka",))


def test_a_broker_that_a_partition_needs_is_not_taken(kafka_lab: Lab) -> None:
    target = target_file.find(kafka_lab.name)
    admin = AdminClient(kafka_lab.kafka.client)
    least = {"guarded-no-spare": "3", "guarded-spare": "2"}
    made = [NewTopic(topic, 1, 3, config={"min.insync.replicas": value}) for topic, value in least.items()]
    for future in admin.create_topics(made).values():
        future.result(30)
    try:
        wait_for("all replicas are in sync", lambda: None if in_sync(target, least) == 6 else "not yet", 30)
        short = kafka_isr.too_few_without(kafka_isr.read(target.kafka), 2)
        assert ["guarded-no-spare/0"] == [name for name in short if name.startswith("guarded")]
        with pytest.raises(Refused, match=r"would leave fewer in-sync replicas than min\.insync\.replicas of "):
            guards.check_quorum(target, Setting(), KillNode("kafka-2"))
    finally:
        for future in admin.delete_topics(list(least)).values():
            future.result(30)


def in_sync(target: Target, topics: Container[str]) -> int:
    return sum(len(one.in_sync) for one in kafka_isr.read(target.kafka) if one.topic in topics)
