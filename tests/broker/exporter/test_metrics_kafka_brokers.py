"""Brokers, log directories and the controllers' quorum of Kafka on the page: whole, and with nodes stopped."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicCollection
from confluent_kafka.admin import AdminClient

from drills.lab import Lab
from tests.broker.exporter.process import Exporter, Page, kafka_of, only, running
from tests.broker.kafka.lag_world import LagWorld
from tests.broker.labs import kafka_python

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # kafka-python reads its schemas by a deprecated function
    from kafka import KafkaAdminClient

LONELY, PAIR = "proof.brokers.lonely", "proof.brokers.pair"
GROUP = "proof.brokers"
VICTIM = "2"
DIRECTORIES = ("broker", "dir")


@dataclass(frozen=True)
class Scene:
    """The exporter, the lab, and kafka-python as a witness of log directories and the quorum."""

    exporter: Exporter
    lab: Lab
    kafka: LagWorld
    witness: Any

    def data(self, broker: str) -> Path:
        return self.lab.folder / f"kafka-{broker}" / "data"

    def directories(self) -> dict[tuple[str, str], int]:
        """Broker and directory -> bytes of all its partitions, as the brokers tell another client."""
        return {
            (str(answer["broker"]), directory["log_dir"]): sum(
                partition["partition_size"] for topic in directory["topics"] for partition in topic["partitions"]
            )
            for answer in self.witness.describe_log_dirs()
            for directory in answer["log_dirs"]
        }

    def quorum(self) -> dict[str, Any]:
        found: dict[str, Any] = self.witness.describe_metadata_quorum()["topics"][0]["partitions"][0]
        return found


@pytest.fixture(scope="module")
def scene(lab: Lab, folder: Path, kafka: LagWorld) -> Iterator[Scene]:
    """A topic with one replica for each partition, and one of two replicas of which both must be in sync."""
    kafka.create_placed(LONELY, [[1], [2], [3]], min_insync_replicas="1")
    kafka.create_placed(PAIR, [[1, 2], [2, 3], [3, 1]], min_insync_replicas="2")
    for partition in range(3):
        kafka.produce(LONELY, 5, partition)
    kafka.commit(GROUP, LONELY, {0: 1, 1: 1, 2: 1})
    section = kafka_of(lab, topics=only("proof.brokers.*"), groups=only(GROUP), expected_brokers=3)
    witness = KafkaAdminClient(**kafka_python(lab.kafka))
    with running(folder, {"kafka": [section]}) as started:
        yield Scene(started, lab, kafka, witness)
    witness.close()


def test_every_broker_is_up(scene: Scene) -> None:
    scene.exporter.shows({"1": 1, "2": 1, "3": 1}, "mq_kafka_broker_up", "broker")
    assert {1, 2, 3} == {node.id for node in scene.kafka.admin.describe_cluster().result(30).nodes}


def test_used_bytes_of_log_directories_are_the_brokers_own_sum(scene: Scene) -> None:
    """The logs may grow meanwhile: the page lies between two answers to another client."""
    directories = {(broker, str(scene.data(broker))) for broker in "123"}
    before = scene.directories()
    assert directories == before.keys()

    def between(page: Page) -> bool:
        used = page.by("mq_kafka_log_dir_used_bytes", DIRECTORIES)
        after = scene.directories()
        return used.keys() == directories and all(before[at] <= used[at] <= after[at] for at in directories)

    scene.exporter.after_polls("lab-kafka", 3)  # log directories are read at the slow pace
    scene.exporter.until("used bytes between two answers", between)


def test_total_and_usable_bytes_are_those_of_the_volume(scene: Scene) -> None:
    disk = os.statvfs(scene.data("1"))
    total = float(disk.f_blocks * disk.f_frsize)
    wanted = {(broker, str(scene.data(broker))): total for broker in "123"}
    scene.exporter.shows(wanted, "mq_kafka_log_dir_total_bytes", DIRECTORIES)

    def off(page: Page) -> dict[str, float]:
        now = os.statvfs(scene.data("1"))
        usable = page.by("mq_kafka_log_dir_usable_bytes", DIRECTORIES)
        assert usable.keys() == wanted.keys()
        return {at: value for at, value in usable.items() if abs(value - now.f_bavail * now.f_frsize) > total / 100}

    scene.exporter.until("usable bytes as the file system says, but for 1 %", off, lambda seen: seen == {})


def test_a_log_directory_that_works_is_not_offline(scene: Scene) -> None:
    """The other way round: test_metrics_full_disk.py."""
    wanted = {(broker, str(scene.data(broker))): 0 for broker in "123"}
    scene.exporter.shows(wanted, "mq_kafka_log_dir_offline", DIRECTORIES)


def test_the_controller_is_the_leader_of_the_quorum(scene: Scene) -> None:
    scene.exporter.shows({str(scene.quorum()["leader_id"]): 1}, "mq_kafka_controller", "broker")
    scene.exporter.shows_value(scene.quorum()["leader_epoch"], "mq_kafka_quorum_leader_epoch")


def test_every_voter_of_the_quorum_has_its_lag(scene: Scene) -> None:
    voters = {str(voter["replica_id"]) for voter in scene.quorum()["current_voters"]}
    assert {"101", "102", "103"} == voters
    scene.exporter.shows_value(3, "mq_kafka_quorum_voters")
    scene.exporter.until(
        "every voter is near the leader, which has no lag",
        lambda page: page.by("mq_kafka_quorum_voter_lag_offsets", "voter"),
        lambda seen: voters == seen.keys() and 0 == min(seen.values()) and max(seen.values()) < 100,
    )


def test_the_clock_of_the_quorum_leader_is_near_ours(scene: Scene) -> None:
    leader = str(scene.quorum()["leader_id"])
    scene.exporter.until(
        "the leader's clock is that of this machine",
        lambda page: page.by("mq_clock_offset_seconds", "node"),
        lambda seen: seen.keys() == {leader} and abs(seen[leader]) < 10,
    )


def test_a_new_controller_has_a_new_epoch(scene: Scene) -> None:
    before = scene.quorum()
    victim = scene.lab.node(f"kafka-controller-{before['leader_id'] - 100}")
    victim.kill()
    try:
        leader = scene.exporter.until(
            "another controller",
            lambda page: list(page.by("mq_kafka_controller", "broker")),
            lambda seen: len(seen) == 1 and seen != [str(before["leader_id"])],
        )
        now = scene.quorum()
        assert [str(now["leader_id"])] == leader
        assert now["leader_epoch"] > before["leader_epoch"]
        scene.exporter.shows_value(now["leader_epoch"], "mq_kafka_quorum_leader_epoch")
    finally:
        victim.start()
    scene.exporter.shows_value(3, "mq_kafka_quorum_voters")


@pytest.fixture(scope="module")
def without_2(scene: Scene) -> Iterator[Scene]:
    """Broker 2 is stopped; for the tests at the end of this module."""
    node = scene.lab.node(f"kafka-{VICTIM}")
    node.kill()
    try:
        scene.exporter.shows_value(0, "mq_kafka_broker_up", broker=VICTIM)
        yield scene
    finally:
        node.start()
    scene.exporter.shows({"1": 1, "2": 1, "3": 1}, "mq_kafka_broker_up", "broker")
    scene.exporter.shows(dict.fromkeys("012", 4), "mq_kafka_group_lag_offsets", "partition", topic=LONELY)


def test_a_broker_that_is_gone_is_down_and_not_missing(without_2: Scene) -> None:
    without_2.exporter.shows({"1": 1, "2": 0, "3": 1}, "mq_kafka_broker_up", "broker")
    without_2.exporter.shows_value(3, "mq_expected_brokers")
    answering = {address: 1 for broker, address in without_2.lab.kafka.brokers.items() if broker != int(VICTIM)}
    without_2.exporter.until(
        "only the others answer",
        lambda page: page.by("mq_exporter_endpoint_up", "endpoint"),
        lambda seen: {address: up for address, up in seen.items() if up} == answering,
    )


def test_a_partition_without_its_only_replica_is_offline_and_has_no_offsets(without_2: Scene) -> None:
    without_2.exporter.shows({"0": 0, "1": 1, "2": 0}, "mq_kafka_partition_offline", "partition", topic=LONELY)
    known = {"0": 5, "2": 5}
    without_2.exporter.shows(known, "mq_kafka_partition_high_watermark_offset", "partition", topic=LONELY)


def test_a_group_on_it_keeps_the_others_and_says_unreadable(without_2: Scene) -> None:
    where = {"group": GROUP, "topic": LONELY}
    without_2.exporter.shows({"0": 4, "2": 4}, "mq_kafka_group_lag_offsets", "partition", **where)
    states = "mq_kafka_group_partition_state"
    without_2.exporter.shows({("1", "unreadable"): 1}, states, ("partition", "state"), **where)
    without_2.exporter.shows({"ok": 2, "unreadable": 1}, "mq_kafka_group_partitions", "state", **where)
    without_2.exporter.shows_value(8, "mq_kafka_group_topic_lag_offsets", **where)  # a lower bound, not withheld


def test_too_few_in_sync_replicas_are_seen_where_they_are(without_2: Scene) -> None:
    survivors = ",".join(address for broker, address in without_2.lab.kafka.brokers.items() if broker != int(VICTIM))
    # one that knew broker 2 may wait for it for a minute
    stranger = AdminClient({**without_2.lab.kafka.client, "bootstrap.servers": survivors})
    described = stranger.describe_topics(TopicCollection([PAIR]))[PAIR].result(30)
    assert [1, 1, 2] == [len(partition.isr) for partition in described.partitions]
    where = {"topic": PAIR}
    without_2.exporter.shows({"0": 1, "1": 1, "2": 2}, "mq_kafka_partition_in_sync_replicas", "partition", **where)
    without_2.exporter.shows({"0": 1, "1": 1, "2": 0}, "mq_kafka_partition_under_min_isr", "partition", **where)
    without_2.exporter.shows({"0": 0, "1": 0, "2": 0}, "mq_kafka_partition_offline", "partition", **where)
    without_2.exporter.shows(dict.fromkeys("012", 2), "mq_kafka_partition_min_in_sync_replicas", "partition", **where)


def test_the_collectors_say_that_something_is_missing(without_2: Scene) -> None:
    without_2.exporter.shows_value(0, "mq_exporter_collector_success", collector="offsets")
    without_2.exporter.until(
        "the partition without a leader is counted as an error",
        lambda page: sum(page.by("mq_exporter_collector_errors_total", "kind", collector="offsets").values()),
    )
