"""Disks that are really full, on a tmpfs under one Kafka broker and one RabbitMQ node."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from drills.lab import Lab, RefusedError, take_down, tmpfs
from drills.lab.errors import LabTimeoutError
from drills.lab.tmpfs import mounts_under
from drills.lab.waiting import wait_for
from tests.broker.kafka.topic_views import create_and_await
from tests.broker.lab.conftest import NOTHING, traces

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # kafka-python reads its schemas by a deprecated function
    from kafka import KafkaAdminClient

STORAGE_ERROR = 56


@pytest.fixture(scope="module")
def small(lab_name: str) -> Iterator[Lab]:
    name = f"{lab_name}-small"
    try:
        yield Lab.up(name, ["kafka", "rabbitmq"], tmpfs={"kafka-1": "60m", "rabbitmq-2": "200m"})
    except RefusedError as refused:
        pytest.skip(str(refused))
    finally:
        take_down(name)


def fill(folder: Path, leave: int) -> Path:
    """A file that takes all of the disk but `leave` bytes."""
    disk = os.statvfs(folder)
    ballast = folder / "ballast"
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, disk.f_bavail * disk.f_bsize - leave)
    return ballast


def test_a_rabbitmq_node_alarms_when_its_own_disk_fills_and_recovers_when_it_is_free_again(small: Lab) -> None:
    node, other = small.rabbit_node("rabbitmq-2"), small.rabbit_node("rabbitmq-1")
    ballast = fill(node.folder / "data", 30_000_000)
    alarms = "rabbit_alarm:get_alarms()."
    wait_for("the alarm is there", lambda: None if node.erlang_name in other.evaluate(alarms) else "no alarm", 30)
    ballast.unlink()
    wait_for("the alarm is gone", lambda: None if other.evaluate(alarms) == "[]" else other.evaluate(alarms), 30)


def test_a_kafka_log_directory_goes_offline_when_it_is_full_and_the_broker_lives_on(small: Lab) -> None:
    directory = small.folder / "kafka-1" / "small"
    admin = AdminClient({"bootstrap.servers": small.kafka.bootstrap})
    # the broker puts each new partition where there are fewest: of four, two are on the small disk
    topic = NewTopic("full", 4, replica_assignment=[[1]] * 4, config={"min.insync.replicas": "1"})
    create_and_await(admin, small.kafka.client, topic, 4)
    wait_for("a partition is there", lambda: None if any(directory.glob("full-*")) else "none", 30)
    partition = int(next(directory.glob("full-*")).name.split("-")[1])
    fill(directory, 100_000)
    failed: list[Any] = []
    producer = Producer({"bootstrap.servers": small.kafka.bootstrap, "message.timeout.ms": 3000})
    for _ in range(20):
        producer.produce(
            "full", os.urandom(50_000), partition=partition, on_delivery=lambda error, _: failed.append(error)
        )
    producer.flush(30)
    assert any(failed)
    assert {str(small.folder / "kafka-1" / "data"): 0, str(directory): STORAGE_ERROR} == log_directories(small, 1)
    assert "serving" == small.node("kafka-1").condition()


def log_directories(lab: Lab, broker: int) -> dict[str, int]:
    """Log directory -> error code, as the broker itself says."""
    client = KafkaAdminClient(bootstrap_servers=lab.kafka.brokers[broker])
    try:
        found = {one["broker"]: one["log_dirs"] for one in client.describe_log_dirs()}[broker]
    finally:
        client.close()
    return {one["log_dir"]: one["error_code"] for one in found}


def test_a_lab_with_small_disks_leaves_no_mount(small: Lab) -> None:
    assert 2 == len(mounts_under(small.folder))
    small.down()
    assert NOTHING == traces(small.folder, small.ports.base)


def test_a_disk_that_is_in_use_for_a_moment_more_is_unmounted_and_one_that_stays_in_use_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        tmpfs.mount(tmp_path / "disk", "1m")
    except RefusedError as refused:
        pytest.skip(str(refused))
    held = (tmp_path / "disk" / "held").open("w")
    try:
        monkeypatch.setattr(tmpfs, "FREE", 0.5)
        with pytest.raises(LabTimeoutError, match=r"busy.*see who uses it with `fuser -vm "):
            tmpfs.unmount_under(tmp_path)
        monkeypatch.setattr(tmpfs, "FREE", 15.0)
        released = threading.Timer(1.0, held.close)
        released.start()
        tmpfs.unmount_under(tmp_path)
        released.join()
    finally:
        held.close()
        tmpfs.unmount_under(tmp_path)
    assert [] == mounts_under(tmp_path)
