"""Objectives on a real page: one for each thing that is measured, with the limit that the configuration gives it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pika
import pytest

from drills.lab import Lab
from tests.broker.exporter.process import Exporter, kafka_of, only, rabbitmq_of, running
from tests.broker.kafka.lag_world import LagWorld
from tests.broker.labs import amqp

KAFKA, RABBITMQ = "objective-kafka", "objective-rabbitmq"
ORDERS, OTHER, DEAD = (f"proof.objective.{name}" for name in ("orders", "other", "orders.DLQ"))
PAY, REPORT = "proof.objective.pay", "proof.objective.report"
OF_KAFKA = {
    "groups": [
        {"group": ".*pay", "topic": ORDERS, "lag": "30s", "floor": 5, "tier": 1},
        {"group": ".*pay", "owner": 'pay "team"'},
    ],
    "dead_letters": [{"topic": ".*", "unhandled": 3, "owner": "orders"}],
}
OF_RABBITMQ = {"queues": [{"queue": "work", "backlog": 50, "owner": "mail", "tier": 3}]}
WHOSE = ("owner", "tier")


@dataclass(frozen=True)
class Scene:
    """The exporter, and the virtual host."""

    exporter: Exporter
    vhost: str


@pytest.fixture(scope="module")
def scene(lab: Lab, folder: Path, kafka: LagWorld, vhost: str) -> Iterator[Scene]:
    for topic in (ORDERS, OTHER, DEAD):
        kafka.create(topic, 1)
        kafka.produce(topic, 2)
    for group, topic in ((PAY, ORDERS), (PAY, OTHER), (REPORT, ORDERS)):
        kafka.commit(group, topic, {0: 1})
    connection = pika.BlockingConnection(amqp(lab, 1, vhost))
    channel = connection.channel()
    letters = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}
    channel.queue_declare("dead", durable=True)
    channel.queue_declare("work", durable=True, arguments=letters)
    channel.queue_declare("log", durable=True, arguments={"x-queue-type": "stream"})
    config = {
        "kafka": [
            kafka_of(
                lab, cluster=KAFKA, topics=only("proof.objective.*"), groups=only("proof.objective.*"),
                objectives=OF_KAFKA,
            )
        ],
        "rabbitmq": [rabbitmq_of(lab, cluster=RABBITMQ, vhosts=only(vhost), objectives=OF_RABBITMQ)],
    }  # fmt: skip
    with running(folder, config) as exporter:
        yield Scene(exporter, vhost)
    connection.close()


def test_groups_have_the_limits_of_their_patterns_or_the_usual_ones(scene: Scene) -> None:
    at = ("group", "topic", *WHOSE)
    pay, others = (PAY, ORDERS, 'pay "team"', "1"), [(PAY, OTHER, 'pay "team"', "2"), (REPORT, ORDERS, "", "2")]
    seconds = {pay: 30.0, **dict.fromkeys(others, 300.0)}
    scene.exporter.shows(seconds, "mq_objective_lag_seconds", at, cluster=KAFKA)
    floors = {pay: 5, **dict.fromkeys(others, 100)}
    scene.exporter.shows(floors, "mq_objective_lag_floor_offsets", at, cluster=KAFKA)
    measured = scene.exporter.page().by("mq_kafka_group_topic_lag_offsets", ("group", "topic"), cluster=KAFKA)
    assert measured.keys() == {labels[:2] for labels in seconds}


def test_queues_that_have_a_depth_have_limits_and_dead_letter_queues_no_backlog(scene: Scene) -> None:
    at = ("vhost", "queue", "type", "role", *WHOSE)
    where = {"cluster": RABBITMQ}
    work = (scene.vhost, "work", "classic", "work", "mail", "3")
    scene.exporter.shows({work: 50}, "mq_objective_backlog_messages", at, **where)
    dead = (scene.vhost, "dead", "classic", "dlq", "", "2")
    scene.exporter.shows({work: 1000, dead: 1000}, "mq_objective_unacknowledged_messages", at, **where)


def test_dead_letters_have_a_limit_in_every_system(scene: Scene) -> None:
    at = ("system", "vhost", "dlq", *WHOSE)
    scene.exporter.shows(
        {("kafka", "", DEAD, "orders", "2"): 3}, "mq_objective_dlq_unhandled_messages", at, cluster=KAFKA
    )
    scene.exporter.shows(
        {("rabbitmq", scene.vhost, "dead", "", "2"): 1}, "mq_objective_dlq_unhandled_messages", at, cluster=RABBITMQ
    )
