"""What has one name for every system, on the page: dead letters, disks, what is expected, and the exporter itself."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pika
import pytest
import requests
from confluent_kafka import ShareConsumer

from drills.lab import Lab
from exporter import VERSION
from exporter.model.common import Kind
from tests.broker.conftest import Management
from tests.broker.exporter.process import (
    INTERVAL,
    STALE_AFTER,
    TIMEOUT,
    Exporter,
    Page,
    cli_of,
    kafka_of,
    only,
    rabbitmq_of,
    running,
)
from tests.broker.kafka.lag_world import LagWorld
from tests.broker.labs import amqp
from tests.versions import has, where_had

SHARES = "share_group_dead_letters"
KAFKA, RABBITMQ, SMALL = "shared-kafka", "shared-rabbitmq", "shared-small"
ORDERS, DEAD, PARKED, SHARED_DEAD = (f"proof.shared.{name}" for name in ("orders", "orders.DLQ", "parked", "rejects"))
HANDLER, SHARE, EXPECTED = "proof.shared.handler", "proof.shared.share", "proof.shared.expected"
WEEK = 7 * 86400.0
TTL = 3600.0
SLOW = 8.0  # seconds between two polls of RabbitMQ: its command line takes a while on a busy machine


@dataclass(frozen=True)
class Scene:
    """The exporter, its configuration, and when dead letters arrived."""

    lab: Lab
    exporter: Exporter
    config: dict[str, Any]
    kafka: LagWorld
    vhost: str
    channel: Any
    dead_since: float  # the oldest that nobody has handled in Kafka
    rejected: tuple[float, float]  # between these two moments RabbitMQ got its oldest


@pytest.fixture(scope="module")
def scene(lab: Lab, folder: Path, kafka: LagWorld, vhost: str, management: Management) -> Iterator[Scene]:
    config = configuration(lab, vhost)
    connection = pika.BlockingConnection(amqp(lab, 1, vhost))
    channel = connection.channel()
    channel.confirm_delivery()
    declare(channel, management, vhost)
    dead_since = fill_kafka(kafka)
    shared = share_group(kafka) if has(SHARES) else nullcontext()
    with running(folder, config) as exporter, shared:
        exporter.shows_value(0, "mq_dlq_depth_messages", system="rabbitmq", dlq="dead")
        rejected = reject(channel, "work", 2)
        reject(channel, "other", 1)
        yield Scene(lab, exporter, config, kafka, vhost, channel, dead_since, rejected)
    connection.close()


def configuration(lab: Lab, vhost: str) -> dict[str, Any]:
    kafka = kafka_of(
        lab, cluster=KAFKA, topics=only("proof.shared.*"), groups=only("proof.shared.*"),
        expected_brokers=3, expected_groups=[EXPECTED, HANDLER],
        dead_letters={"topics": [PARKED], "sources": {PARKED: "a legacy system"}},
    )  # fmt: skip
    small = {**kafka, "cluster": SMALL, "max_series": 100, "expected_brokers": None, "expected_groups": []}
    slowly = {"interval": SLOW, "slow_interval": SLOW, "timeout": 3 * TIMEOUT}
    rabbitmq = rabbitmq_of(lab, cluster=RABBITMQ, vhosts=only(vhost), expected_nodes=3, **cli_of(lab))
    return {"kafka": [kafka, small], "rabbitmq": [{**rabbitmq, **slowly}]}


def declare(channel: Any, management: Management, vhost: str) -> None:
    """`work` by argument and `other` by policy into `dead`; `lost` into an exchange that does not exist."""
    letters = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}
    channel.queue_declare("dead", durable=True, arguments={"x-queue-type": "quorum", "x-message-ttl": int(TTL * 1000)})
    channel.queue_declare("work", durable=True, arguments=letters)
    channel.queue_declare("other", durable=True)
    channel.queue_declare("log", durable=True, arguments={"x-queue-type": "stream"})
    channel.queue_declare("lost", durable=True, arguments={"x-dead-letter-exchange": "missing"})
    definition = {"dead-letter-exchange": "", "dead-letter-routing-key": "dead"}
    policy = {"pattern": "^other$", "definition": definition, "apply-to": "queues"}
    management.put(f"policies/{quote(vhost, safe='')}/letters", policy)


def fill_kafka(kafka: LagWorld) -> float:
    """Seven dead letters of which the handler has dealt with five; when the oldest of the others was written."""
    for topic, partitions in ((ORDERS, 4), (DEAD, 2), (PARKED, 1)):
        kafka.create(topic, partitions)
    if has(SHARES):
        kafka.create(SHARED_DEAD, 1, errors_deadletterqueue_group_enable="true")
    kafka.produce(DEAD, 4, 0)
    kafka.produce(DEAD, 1, 1)
    since = int((time.time() - 100) * 1000)
    kafka.produce(DEAD, 2, 1, timestamp=since)
    kafka.produce(PARKED, 3)
    kafka.commit(HANDLER, DEAD, {0: 4, 1: 1})
    return since / 1000


@contextmanager
def share_group(kafka: LagWorld) -> Iterator[None]:
    """A share group whose configuration names a dead-letter topic (KIP-1191)."""
    kafka._groups.append(SHARE)
    kafka.set_group(SHARE, "errors.deadletterqueue.topic.name", SHARED_DEAD)
    consumer = ShareConsumer({**kafka.client, "group.id": SHARE})
    consumer.subscribe([ORDERS])
    consumer.poll(5.0)
    try:
        yield
    finally:
        consumer.close()


def reject(channel: Any, queue: str, count: int) -> tuple[float, float]:
    """Publish and reject; the moments between which the first was dead-lettered."""
    moments = []
    for _ in range(count):
        channel.basic_publish("", queue, b"x", pika.BasicProperties(delivery_mode=2), mandatory=True)
        moments.append(time.time())
        channel.basic_reject(channel.basic_get(queue)[0].delivery_tag, requeue=False)
        moments.append(time.time())
    return moments[0], moments[1]


def test_kafkas_dead_letters_are_those_retained_and_those_nobody_has_dealt_with(scene: Scene) -> None:
    """One that has a handler, one that nobody reads, one that is empty."""
    where = {"system": "kafka", "cluster": KAFKA}
    at = ("vhost", "dlq")
    retained = {("", DEAD): 7, ("", PARKED): 3} | where_had({("", SHARED_DEAD): 0}, SHARES)
    scene.exporter.shows(retained, "mq_dlq_depth_messages", at, **where)
    scene.exporter.shows({**retained, ("", DEAD): 2}, "mq_dlq_unhandled_messages", at, **where)
    scene.exporter.shows(retained, "mq_dlq_arrivals_total", at, **where)


def test_kafkas_oldest_dead_letter_has_its_age_and_its_time_until_retention_deletes_it(scene: Scene) -> None:
    where = {"system": "kafka", "cluster": KAFKA, "dlq": DEAD}
    page = scene.exporter.until("an age", lambda page: page, lambda page: has_age(page, where))
    age = page.value("mq_dlq_oldest_message_age_seconds", **where)
    left = page.value("mq_dlq_time_to_deletion_seconds", **where)
    assert age is not None
    assert left is not None
    assert page.at - STALE_AFTER * INTERVAL - scene.dead_since <= age <= time.time() - scene.dead_since
    assert WEEK == pytest.approx(age + left)  # Kafka's default retention


def has_age(page: Page, where: dict[str, str]) -> bool:
    return page.value("mq_dlq_oldest_message_age_seconds", **where) is not None


def test_rabbitmqs_dead_letters_are_those_that_were_rejected(scene: Scene) -> None:
    where = {"system": "rabbitmq", "cluster": RABBITMQ}
    at = ("vhost", "dlq")
    scene.exporter.shows({(scene.vhost, "dead"): 3}, "mq_dlq_depth_messages", at, **where)
    scene.exporter.shows({(scene.vhost, "dead"): 3}, "mq_dlq_unhandled_messages", at, **where)
    scene.exporter.shows({(scene.vhost, "dead"): 3}, "mq_dlq_arrivals_total", at, **where)


def test_rabbitmqs_oldest_dead_letter_has_its_age_and_its_time_until_its_ttl_ends(scene: Scene) -> None:
    where = {"system": "rabbitmq", "cluster": RABBITMQ, "dlq": "dead"}
    earliest, latest = scene.rejected

    def off(page: Page) -> str | None:
        age = page.value("mq_dlq_oldest_message_age_seconds", **where)
        left = page.value("mq_dlq_time_to_deletion_seconds", **where)
        oldest, youngest = time.time() - earliest, page.at - STALE_AFTER * SLOW - latest
        good = age is not None and left is not None and youngest <= age <= oldest and abs(age + left - TTL) < 0.001
        return None if good else f"{youngest} <= {age} <= {oldest}, {left} left"

    scene.exporter.until("an age and the time left", off, lambda seen: seen is None)


def test_arrivals_go_on_counting_when_dead_letters_are_taken_away(scene: Scene) -> None:
    where = {"system": "rabbitmq", "cluster": RABBITMQ, "dlq": "dead"}
    scene.exporter.shows_value(3, "mq_dlq_arrivals_total", **where)
    scene.channel.basic_get("dead", auto_ack=True)
    scene.exporter.shows_value(2, "mq_dlq_depth_messages", **where)
    scene.exporter.shows_value(3, "mq_dlq_arrivals_total", **where)


def test_every_dead_letter_queue_names_what_feeds_it_and_how_that_is_known(scene: Scene) -> None:
    at = ("system", "vhost", "dlq", "source", "via")
    rabbitmq = {
        ("rabbitmq", scene.vhost, "dead", "work", "argument"): 1,
        ("rabbitmq", scene.vhost, "dead", "other", "policy"): 1,
        ("rabbitmq", scene.vhost, "", "lost", "dropped"): 1,
    }
    kafka = {
        ("kafka", "", DEAD, ORDERS, "pattern"): 1,
        ("kafka", "", PARKED, "a legacy system", "config"): 1,
        **where_had({("kafka", "", SHARED_DEAD, "", "topic_config"): 1}, SHARES),
        **where_had({("kafka", "", SHARED_DEAD, SHARE, "share_group"): 1}, SHARES),
    }
    scene.exporter.shows(rabbitmq, "mq_dlq_source_info", at, cluster=RABBITMQ)
    scene.exporter.shows(kafka, "mq_dlq_source_info", at, cluster=KAFKA)


def test_kafkas_disks_are_its_log_directories_against_the_configured_limit(scene: Scene) -> None:
    """The limit is a share of the disk, 5 % where nothing else is configured."""
    where = {"system": "kafka", "cluster": KAFKA}
    dirs = {(str(broker), str(scene.lab.folder / f"kafka-{broker}" / "data")) for broker in (1, 2, 3)}
    disk = os.statvfs(next(iter(dirs))[1])
    total = disk.f_blocks * disk.f_frsize
    limits = dict.fromkeys(dirs, int(total * 0.05))
    scene.exporter.shows(limits, "mq_disk_free_limit_bytes", ("node", "dir"), **where)
    scene.exporter.shows(dict.fromkeys(dirs, 0), "mq_disk_alarm", ("node", "dir"), **where)

    def off(page: Page) -> dict[tuple[str, str], float]:
        now = os.statvfs(scene.lab.folder)
        free = page.by("mq_disk_free_bytes", ("node", "dir"), **where)
        assert dirs == free.keys()
        return {at: value for at, value in free.items() if abs(value - now.f_bavail * now.f_frsize) > total / 100}

    scene.exporter.until("free bytes as the file system says, but for 1 %", off, lambda seen: seen == {})


def test_what_is_expected_is_on_the_page_whether_it_is_there_or_not(scene: Scene) -> None:
    scene.exporter.shows({KAFKA: 3}, "mq_expected_brokers", "cluster")
    scene.exporter.shows({RABBITMQ: 3}, "mq_expected_nodes", "cluster")
    scene.exporter.shows({(KAFKA, EXPECTED): 1, (KAFKA, HANDLER): 1}, "mq_expected_group", ("cluster", "group"))
    groups = {HANDLER, *where_had({SHARE: 1}, SHARES)}
    scene.exporter.until(
        f"{groups}",
        lambda page: page.by("mq_kafka_group_info", "group", cluster=KAFKA).keys(),
        lambda seen: seen == groups,
    )


COLLECTORS = {
    KAFKA: {"topics", "topic_configs", "offsets", "groups", "commits", "ages", "log_dirs", "quorum", "brokers"},
    RABBITMQ: {
        "overview", "nodes", "queues", "node_metrics", "connections", "topology", "quorum_ages", "streams",
    },
}  # fmt: skip


@pytest.mark.parametrize("cluster", [KAFKA, RABBITMQ])
def test_every_collector_says_that_it_succeeded_when_and_how_long_it_took(scene: Scene, cluster: str) -> None:
    names = COLLECTORS[cluster]
    where = {"cluster": cluster}
    scene.exporter.shows(dict.fromkeys(names, 1), "mq_exporter_collector_success", "collector", **where)
    page = scene.exporter.page()
    intervals = page.by("mq_exporter_collector_interval_seconds", "collector", **where)
    durations = page.by("mq_exporter_collector_duration_seconds", "collector", **where)
    successes = page.by("mq_exporter_collector_last_success_timestamp_seconds", "collector", **where)
    assert names == intervals.keys() == durations.keys() == successes.keys()
    unhurried = {"quorum_ages", "streams"}  # by the command line: not more often than it can, however busy the machine
    paces = {interval for name, interval in intervals.items() if name not in unhurried}
    assert {KAFKA: {INTERVAL, 2 * INTERVAL}, RABBITMQ: {SLOW}}[cluster] == paces
    assert all(interval >= min(paces) for interval in intervals.values())
    assert all(0 <= duration < 60 for duration in durations.values())
    assert all(page.at - 600 < when <= time.time() for when in successes.values())


@pytest.mark.parametrize("cluster", [KAFKA, RABBITMQ])
def test_errors_of_every_kind_are_there_from_the_start(scene: Scene, cluster: str) -> None:
    """That they count: test_promises.py (unreachable) and test_metrics_kafka_brokers.py."""
    errors = scene.exporter.page().by("mq_exporter_collector_errors_total", ("collector", "kind"), cluster=cluster)
    assert {(name, kind.value) for name in COLLECTORS[cluster] for kind in Kind} == errors.keys()


def test_every_address_that_is_asked_says_whether_it_answered(scene: Scene) -> None:
    kafka = dict.fromkeys(scene.lab.kafka.brokers.values(), 1)
    scene.exporter.shows(kafka, "mq_exporter_endpoint_up", "endpoint", cluster=KAFKA)
    ports = [
        *(scene.lab.ports.management(node) for node in (1, 2, 3)),
        *(scene.lab.ports.rabbitmq_metrics(node) for node in (1, 2, 3)),
    ]
    scene.exporter.until(
        "three management URLs and the three nodes' own",
        lambda page: page.by("mq_exporter_endpoint_up", "endpoint", cluster=RABBITMQ),
        lambda seen: set(seen.values()) == {1.0} and all(any(f":{port}" in it for it in seen) for port in ports),
    )


def test_a_healthy_cluster_withholds_nothing(scene: Scene) -> None:
    scene.exporter.until(
        "nothing is withheld",
        lambda page: sum(page.by("mq_exporter_items_skipped", ("cluster", "collector", "reason")).values()),
        lambda seen: seen == 0,
    )


@pytest.mark.parametrize("cluster", [KAFKA, RABBITMQ])
def test_the_number_of_series_is_what_is_on_the_page(scene: Scene, cluster: str) -> None:
    def both(page: Page) -> tuple[float | None, int]:
        rows = [
            labels
            for name, found in page.samples.items()
            if not name.startswith("mq_exporter_")
            for labels, _ in found
            if labels.get("cluster") == cluster
        ]
        return page.value("mq_exporter_series", cluster=cluster), len(rows)

    seen = scene.exporter.until("as many as there are", both, lambda pair: pair[0] == pair[1])
    assert seen[1] > 20
    scene.exporter.shows_value(0, "mq_exporter_series_dropped", cluster=cluster)


def test_what_the_budget_drops_is_counted(scene: Scene) -> None:
    """The same cluster with a limit: what is missing there is the number."""

    def missing(page: Page) -> tuple[float, float | None]:
        whole, left = (page.value("mq_exporter_series", cluster=name) for name in (KAFKA, SMALL))
        expected = sum(len(page.by(name, (), cluster=KAFKA)) for name in ("mq_expected_brokers",))
        expected += len(page.by("mq_expected_group", "group", cluster=KAFKA))
        return (whole or 0) - expected - (left or 0), page.value("mq_exporter_series_dropped", cluster=SMALL)

    dropped, _ = scene.exporter.until(
        "as many as are missing", missing, lambda pair: pair[0] == pair[1] and pair[0] > 0
    )
    assert dropped > 0


def test_contradictions_are_counted_by_name_and_are_0_here(scene: Scene) -> None:
    """That they count: test_metrics_kafka_groups.py."""
    names = (
        "commit_above_high_watermark",
        "group_on_two_brokers",
        "last_stable_above_high_watermark",
        "log_start_above_high_watermark",
    )
    wanted = dict.fromkeys(names, 0)
    scene.exporter.shows(wanted, "mq_exporter_contradictions_total", "contradiction", cluster=KAFKA)
    page = scene.exporter.page()
    assert {0.0} == set(page.by("mq_exporter_contradictions_total", "contradiction", cluster=RABBITMQ).values())


def test_polls_have_their_duration_and_those_left_out_are_counted(scene: Scene) -> None:
    """That they count: test_promises.py."""
    page = scene.exporter.page()
    durations = page.by("mq_exporter_poll_duration_seconds", "cluster")
    assert {KAFKA, SMALL, RABBITMQ} == durations.keys()
    assert all(0 < duration < 60 for duration in durations.values())
    assert durations.keys() == page.by("mq_exporter_polls_skipped_total", "cluster").keys()


def test_the_build_is_this_one(scene: Scene) -> None:
    wanted = {(VERSION, platform.python_version()): 1}
    scene.exporter.shows(wanted, "mq_exporter_build_info", ("version", "python"))


def test_a_reload_takes_the_whole_configuration_or_none_and_says_which(scene: Scene) -> None:
    """A disk limit above what is free raises the alarm of Kafka's log directories; a mistake changes nothing."""
    scene.exporter.shows_value(1, "mq_exporter_config_reload_success")
    good = json.loads(scene.exporter.config.read_text())
    limited = json.loads(json.dumps(good))
    limited["kafka"][0]["disk_free_limit"] = "100%"
    scene.exporter.config.write_text(json.dumps(limited))
    assert 200 == reload(scene.exporter)
    scene.exporter.shows({"1": 1, "2": 1, "3": 1}, "mq_disk_alarm", "node", system="kafka", cluster=KAFKA)
    scene.exporter.shows_value(1, "mq_exporter_config_reload_success")

    scene.exporter.config.write_text(json.dumps({**good, "kafka": [{"cluster": KAFKA, "no_such_key": 1}]}))
    assert 500 == reload(scene.exporter)
    scene.exporter.shows_value(0, "mq_exporter_config_reload_success")
    scene.exporter.shows({"1": 1, "2": 1, "3": 1}, "mq_disk_alarm", "node", system="kafka", cluster=KAFKA)

    scene.exporter.config.write_text(json.dumps(good))
    assert 200 == reload(scene.exporter)
    scene.exporter.shows_value(1, "mq_exporter_config_reload_success")
    scene.exporter.shows({"1": 0, "2": 0, "3": 0}, "mq_disk_alarm", "node", system="kafka", cluster=KAFKA)


def reload(exporter: Exporter) -> int:
    return requests.post(exporter.url + "/-/reload", timeout=60).status_code
