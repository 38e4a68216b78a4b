"""A log directory of Kafka that is really full, on a small disk of its own: offline, and an alarm."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Producer

from drills.lab import Lab, RefusedError, take_down
from drills.lab.waiting import wait_for
from tests import versions
from tests.broker.exporter.process import PATIENCE, Exporter, Page, kafka_of, running
from tests.broker.kafka.lag_world import LagWorld

TOPIC = "proof.full"
AT = ("broker", "dir")


@dataclass(frozen=True)
class Scene:
    """The exporter, and the two log directories of the broker whose second is full."""

    exporter: Exporter
    whole: tuple[str, str]
    full: tuple[str, str]
    others: set[tuple[str, str]]

    def on_disk(self, page: Page, name: str) -> dict[tuple[str, str], float]:
        return page.by(name, ("node", "dir"), system="kafka")


@pytest.fixture(scope="module")
def scene(lab_name: str, folder: Path) -> Iterator[Scene]:
    """A lab of its own: a small disk is chosen when a lab is made."""
    name = f"{lab_name}-disk"
    try:
        lab = Lab.up(name, ["kafka"], tmpfs={"kafka-1": "60m"}, settings=versions.of_this_run())
        with running(folder, {"kafka": [kafka_of(lab)]}) as exporter:
            made = scene_of(lab, exporter)
            sizes_of_the_small_disk(made, Path(made.full[1]))
            fill(lab, Path(made.full[1]))
            yield made
    except RefusedError as refused:
        pytest.skip(str(refused))
    finally:
        take_down(name)


def scene_of(lab: Lab, exporter: Exporter) -> Scene:
    data = {broker: str(lab.folder / f"kafka-{broker}" / "data") for broker in (1, 2, 3)}
    others = {(str(broker), directory) for broker, directory in data.items() if broker != 1}
    return Scene(exporter, ("1", data[1]), ("1", str(lab.folder / "kafka-1" / "small")), others)


def sizes_of_the_small_disk(made: Scene, directory: Path) -> None:
    """While it works it has a size and an alarm of its own: two disks on one broker are told apart."""
    disk = os.statvfs(directory)
    broker, path = made.full
    made.exporter.shows_value(disk.f_blocks * disk.f_frsize, "mq_kafka_log_dir_total_bytes", broker=broker, dir=path)
    made.exporter.shows_value(0, "mq_kafka_log_dir_offline", broker=broker, dir=path)
    made.exporter.shows_value(0, "mq_disk_alarm", system="kafka", node=broker, dir=path)


def fill(lab: Lab, directory: Path) -> None:
    """Of four partitions two are on the small disk; one of them is written to until nothing fits any more."""
    kafka = LagWorld(lab.kafka)
    kafka.create_placed(TOPIC, [[1]] * 4, min_insync_replicas="1")
    wait_for("a partition is there", lambda: None if any(directory.glob(f"{TOPIC}-*")) else "none", PATIENCE)
    partition = int(next(directory.glob(f"{TOPIC}-*")).name.rpartition("-")[2])
    disk = os.statvfs(directory)
    with (directory / "ballast").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, disk.f_bavail * disk.f_bsize - 100_000)
    failed: list[object] = []
    producer = Producer({**lab.kafka.client, "message.timeout.ms": 20_000})
    for _ in range(20):
        producer.produce(TOPIC, os.urandom(50_000), partition=partition, on_delivery=lambda bad, _: failed.append(bad))
    producer.flush(60)
    assert any(failed)


def test_a_full_log_directory_is_offline_and_the_others_are_not(scene: Scene) -> None:
    wanted = {scene.full: 1, scene.whole: 0, **dict.fromkeys(scene.others, 0)}
    scene.exporter.shows(wanted, "mq_kafka_log_dir_offline", AT)


def test_it_is_an_alarm_without_a_number_of_free_bytes(scene: Scene) -> None:
    wanted = {scene.full: 1, scene.whole: 0, **dict.fromkeys(scene.others, 0)}
    scene.exporter.shows(wanted, "mq_disk_alarm", ("node", "dir"), system="kafka")
    page = scene.exporter.page()
    assert {scene.whole, *scene.others} == scene.on_disk(page, "mq_disk_free_bytes").keys()
    assert {scene.whole, *scene.others} == page.by("mq_kafka_log_dir_used_bytes", AT).keys()


def test_the_broker_lives_on_and_the_partitions_of_that_directory_are_offline(scene: Scene) -> None:
    scene.exporter.shows_value(1, "mq_kafka_broker_up", broker="1")
    scene.exporter.until(
        "two of four partitions are offline",
        lambda page: page.by("mq_kafka_partition_offline", "partition", topic=TOPIC),
        lambda seen: len(seen) == 4 and sum(seen.values()) == 2,
    )
