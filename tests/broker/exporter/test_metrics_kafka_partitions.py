"""Partitions, topics and transactions of Kafka on the page, beside what confluent-kafka's admin client is told."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import IsolationLevel, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import OffsetSpec, TopicDescription

from drills.lab import Lab
from tests.broker.exporter.process import Exporter, kafka_of, only, running
from tests.broker.kafka.lag_world import LagWorld

ORDERS, PAYMENTS, SETTINGS = "proof.partitions.orders", "proof.partitions.payments", "proof.partitions.settings"
DONE = "proof.partitions.done"
PARTITIONS = {ORDERS: 3, PAYMENTS: 1, SETTINGS: 2, DONE: 1}
STARTS = {(ORDERS, "0"): 4, (ORDERS, "1"): 0, (ORDERS, "2"): 0, (PAYMENTS, "0"): 0,
          (SETTINGS, "0"): 0, (SETTINGS, "1"): 0, (DONE, "0"): 0}  # fmt: skip
HIGHS = {**STARTS, (ORDERS, "0"): 10, (ORDERS, "1"): 7, (PAYMENTS, "0"): 5, (SETTINGS, "1"): 1, (DONE, "0"): 4}
STABLES = {**HIGHS, (PAYMENTS, "0"): 2}  # three records and a marker in DONE, where a transaction has ended
AT = ("topic", "partition")


@dataclass(frozen=True)
class Scene:
    """What was put in, and the exporter that looks at it."""

    exporter: Exporter
    kafka: LagWorld
    transaction_began: float  # the time of its first record

    def offsets(self, spec: OffsetSpec, isolation: IsolationLevel) -> dict[tuple[str, str], int]:
        """What the brokers tell another client."""
        asked = {TopicPartition(topic, int(partition)): spec for topic, partition in HIGHS}
        answers = self.kafka.admin.list_offsets(asked, isolation_level=isolation)
        return {(at.topic, str(at.partition)): found.result(30).offset for at, found in answers.items()}

    def described(self) -> list[TopicDescription]:
        answers = self.kafka.admin.describe_topics(TopicCollection(list(PARTITIONS)))
        return [found.result(30) for found in answers.values()]


@pytest.fixture(scope="module")
def scene(lab: Lab, folder: Path, kafka: LagWorld) -> Iterator[Scene]:
    kafka.create(ORDERS, 3, min_insync_replicas="2", message_timestamp_type="LogAppendTime")
    kafka.create(PAYMENTS)
    kafka.create(DONE)
    kafka.create(SETTINGS, 2, replicas=2, min_insync_replicas="1", cleanup_policy="compact,delete")
    kafka.produce(ORDERS, 10, 0)
    kafka.delete_records(ORDERS, 4)
    kafka.produce(ORDERS, 7, 1)
    produce_with_key(kafka, SETTINGS, 1)
    kafka.produce(PAYMENTS, 2)
    with running(folder, {"kafka": [kafka_of(lab, topics=only("proof.partitions.*"), groups=only("none"))]}) as started:
        ended, _ = open_transaction(lab, DONE, records=3)
        ended.commit_transaction(60)
        producer, began = open_transaction(lab, PAYMENTS, records=3)
        yield Scene(started, kafka, began)
        producer.abort_transaction(60)


def produce_with_key(kafka: LagWorld, topic: str, partition: int) -> None:
    """One record: a compacted topic takes none without a key."""
    producer = Producer({**kafka.client, "acks": "all"})
    producer.produce(topic, b"x", key=b"k", partition=partition)
    assert 0 == producer.flush(60)


def open_transaction(lab: Lab, topic: str, records: int) -> tuple[Producer, float]:
    times: list[float] = []
    settings = {"transactional.id": topic, "transaction.timeout.ms": 600_000}
    producer = Producer({**lab.kafka.client, **settings})
    producer.init_transactions(60)
    producer.begin_transaction()
    for _ in range(records):
        producer.produce(topic, b"x", callback=lambda _, message: times.append(message.timestamp()[1] / 1000))
    assert 0 == producer.flush(60)
    return producer, min(times)


def test_log_starts_are_those_that_retention_left(scene: Scene) -> None:
    scene.exporter.shows(STARTS, "mq_kafka_partition_log_start_offset", AT)
    assert STARTS == scene.offsets(OffsetSpec.earliest(), IsolationLevel.READ_UNCOMMITTED)


def test_high_watermarks_are_what_was_produced(scene: Scene) -> None:
    scene.exporter.shows(HIGHS, "mq_kafka_partition_high_watermark_offset", AT)
    assert HIGHS == scene.offsets(OffsetSpec.latest(), IsolationLevel.READ_UNCOMMITTED)


def test_last_stable_offsets_stay_before_an_open_transaction(scene: Scene) -> None:
    scene.exporter.shows(STABLES, "mq_kafka_partition_last_stable_offset", AT)
    assert STABLES == scene.offsets(OffsetSpec.latest(), IsolationLevel.READ_COMMITTED)


def test_an_open_transaction_is_as_old_as_its_first_record_and_one_that_ended_is_not_there(scene: Scene) -> None:
    scene.exporter.shows_age(scene.transaction_began, "mq_kafka_partition_open_transaction_seconds", topic=PAYMENTS)
    assert {(PAYMENTS, "0")} == scene.exporter.page().by("mq_kafka_partition_open_transaction_seconds", AT).keys()


def test_an_open_transaction_has_its_age_also_after_a_restart_of_the_exporter(
    scene: Scene, lab: Lab, folder: Path
) -> None:
    with running(folder, {"kafka": [kafka_of(lab, topics=only(PAYMENTS), groups=only("none"))]}) as again:
        again.shows_age(scene.transaction_began, "mq_kafka_partition_open_transaction_seconds", topic=PAYMENTS)
    assert time.time() - scene.transaction_began > 1


def test_replicas_and_those_in_sync_are_what_metadata_says(scene: Scene) -> None:
    parts = {(topic.name, str(part.id)): part for topic in scene.described() for part in topic.partitions}
    wanted = {at: 2 if at[0] == SETTINGS else 3 for at in HIGHS}
    assert wanted == {at: len(part.replicas) for at, part in parts.items()}
    scene.exporter.shows(wanted, "mq_kafka_partition_replicas", AT)
    scene.exporter.shows({at: len(part.isr) for at, part in parts.items()}, "mq_kafka_partition_in_sync_replicas", AT)


def test_the_minimum_in_sync_is_that_of_the_topic_or_else_of_the_brokers(scene: Scene) -> None:
    wanted = {at: 1 if at[0] == SETTINGS else 2 for at in HIGHS}
    scene.exporter.shows(wanted, "mq_kafka_partition_min_in_sync_replicas", AT)


def test_nothing_is_offline_or_under_its_minimum_while_all_brokers_serve(scene: Scene) -> None:
    """The other way round: test_metrics_kafka_brokers.py."""
    scene.exporter.shows(dict.fromkeys(HIGHS, 0), "mq_kafka_partition_offline", AT)
    scene.exporter.shows(dict.fromkeys(HIGHS, 0), "mq_kafka_partition_under_min_isr", AT)


def test_every_topic_has_its_number_of_partitions(scene: Scene) -> None:
    scene.exporter.shows(PARTITIONS, "mq_kafka_topic_partitions", "topic")
    assert PARTITIONS == {topic.name: len(topic.partitions) for topic in scene.described()}


def test_topics_have_their_ids_and_settings(scene: Scene) -> None:
    spelled = str.maketrans("+/", "-_")  # Kafka's own tools write ids so, confluent-kafka does not
    ids = {topic.name: str(topic.topic_id).translate(spelled) for topic in scene.described()}
    wanted = {
        (ORDERS, ids[ORDERS], "delete", "LogAppendTime"): 1,
        (PAYMENTS, ids[PAYMENTS], "delete", "CreateTime"): 1,
        (SETTINGS, ids[SETTINGS], "compact,delete", "CreateTime"): 1,
        (DONE, ids[DONE], "delete", "CreateTime"): 1,
    }
    scene.exporter.shows(wanted, "mq_kafka_topic_info", ("topic", "topic_id", "cleanup_policy", "timestamp_type"))
