"""A real exporter on the secure lab, with users that have the least rights; its passwords and authorities change."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pika
import pytest

from drills.lab import Lab, kafka_security, keys
from drills.lab.keys import ADMIN, write_secret
from exporter.clients.rabbitmq.reader import RabbitReader
from exporter.config.model import RabbitMQ
from tests.broker.conftest import Management
from tests.broker.exporter.process import Exporter, Page, kafka_of, only, rabbitmq_of, running
from tests.broker.kafka.lag_world import LagWorld
from tests.broker.labs import amqp

TOPIC, GROUP, VHOST, OTHER = "secure.orders", "secure.billing", "secure", "elsewhere"
CHANGING = "changing"  # a user whose password the tests change
KAFKA, RABBITMQ = "monitor-kafka", "monitor-rabbitmq"
AS_ADMIN = {KAFKA: "admin-kafka", RABBITMQ: "admin-rabbitmq"}
WATCHED = {"topics": only("secure[.]orders.*"), "groups": only("secure[.].*")}
ERRORS = "mq_exporter_collector_errors_total"
# a login lasts 20 s, and the exporter renews it before; then the next polls must show it
PATIENCE = 120.0


@dataclass(frozen=True)
class Scene:
    """The lab with something to see, and an exporter that looks at it as monitor and as administrator."""

    lab: Lab
    exporter: Exporter


@pytest.fixture(scope="module")
def scene(secure_lab: Lab, administration: Management, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    world = LagWorld(secure_lab.kafka)
    administration.make_vhost(VHOST)
    fill(secure_lab, world)
    config = {
        "kafka": [kafka_of(secure_lab, cluster=KAFKA, **WATCHED), as_user(secure_lab, "kafka", ADMIN)],
        "rabbitmq": [rabbitmq_of(secure_lab, cluster=RABBITMQ), as_user(secure_lab, "rabbitmq", ADMIN)],
    }
    with running(tmp_path_factory.mktemp("secure"), config) as exporter:
        yield Scene(secure_lab, exporter)
    administration.delete(f"vhosts/{VHOST}")
    world.close()


def fill(lab: Lab, world: LagWorld) -> None:
    world.create(TOPIC, 2)
    world.create(f"{TOPIC}.DLQ")
    world.produce(TOPIC, 5)
    world.produce(f"{TOPIC}.DLQ", 2)
    world.commit(GROUP, TOPIC, {0: 2, 1: 0})
    with pika.BlockingConnection(amqp(lab, 1, VHOST)) as connection:
        channel = connection.channel()
        channel.confirm_delivery()
        letters = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}
        channel.queue_declare("work", durable=True, arguments={"x-queue-type": "quorum", **letters})
        channel.queue_declare("dead", durable=True)
        channel.queue_declare("log", durable=True, arguments={"x-queue-type": "stream"})
        for queue in ("work", "work", "dead"):
            channel.basic_publish("", queue, b"x", pika.BasicProperties(delivery_mode=2), mandatory=True)


def as_user(lab: Lab, system: str, user: str) -> dict[str, Any]:
    """A section for a cluster of the lab, seen by this user."""
    if system == "kafka":
        return {**kafka_of(lab, cluster=AS_ADMIN[KAFKA], **WATCHED), **lab.kafka.watched(user)}
    return {**rabbitmq_of(lab, cluster=AS_ADMIN[RABBITMQ]), **lab.rabbitmq.watched(user)}


def labels_of(page: Page, cluster: str) -> dict[str, set[tuple[str, ...]]]:
    """Family -> the label values of its samples, but for the exporter's own accounts."""
    return {
        name: {tuple(value for label, value in labels.items() if label != "cluster") for labels, _ in samples}
        for name in page.samples
        if not name.startswith("mq_exporter_")
        and (samples := [pair for pair in page.samples[name] if pair[0].get("cluster") == cluster])
    }


FEW = {
    KAFKA: {"mq_kafka_group_lag_offsets", "mq_kafka_group_oldest_message_age_seconds", "mq_kafka_log_dir_usable_bytes",
            "mq_kafka_quorum_voters", "mq_kafka_partition_min_in_sync_replicas", "mq_dlq_unhandled_messages",
            "mq_kafka_broker_up", "mq_kafka_topic_info", "mq_disk_free_bytes", "mq_clock_offset_seconds"},
    RABBITMQ: {"mq_rabbitmq_queue_messages_ready", "mq_rabbitmq_node_up", "mq_rabbitmq_connections", "mq_disk_alarm",
               "mq_dlq_depth_messages", "mq_rabbitmq_queue_published_total", "mq_rabbitmq_unroutable_total",
               "mq_rabbitmq_stream_retained_messages", "mq_clock_offset_seconds"},
}  # fmt: skip


@pytest.mark.parametrize("cluster", [KAFKA, RABBITMQ])
def test_a_monitor_sees_every_series_that_an_administrator_sees(scene: Scene, cluster: str) -> None:
    def both(page: Page) -> tuple[dict[str, set[tuple[str, ...]]], dict[str, set[tuple[str, ...]]]]:
        return labels_of(page, AS_ADMIN[cluster]), labels_of(page, cluster)

    administrator, monitor = scene.exporter.until(
        "the same series", both, lambda seen: seen[0] == seen[1] and FEW[cluster] <= seen[0].keys()
    )
    assert administrator == monitor


@pytest.mark.parametrize("cluster", [KAFKA, RABBITMQ])
def test_the_least_rights_are_enough_for_every_collector(scene: Scene, cluster: str) -> None:
    page = scene.exporter.after_polls(cluster, 3)
    successes = page.by("mq_exporter_collector_success", "collector", cluster=cluster)
    assert dict.fromkeys(successes, 1.0) == successes
    assert 0.0 == sum(page.by(ERRORS, "collector", cluster=cluster, kind="authorization").values())


def test_values_are_those_that_were_put_in(scene: Scene) -> None:
    group = {"cluster": KAFKA, "group": GROUP, "topic": TOPIC}
    scene.exporter.shows({"0": 3, "1": 0}, "mq_kafka_group_lag_offsets", "partition", **group)
    queues = {"cluster": RABBITMQ, "vhost": VHOST}
    scene.exporter.shows({"work": 2, "dead": 1}, "mq_rabbitmq_queue_messages_ready", "queue", **queues)


@dataclass(frozen=True)
class Changing:
    """An exporter whose password files and authorities are the test's own."""

    exporter: Exporter
    folder: Path

    def failing(self, cluster: str, kind: str) -> Callable[[Page], bool]:
        """Whether a collector that runs in every poll fails now, and such errors were counted."""
        collector = "topics" if cluster == KAFKA else "overview"

        def look(page: Page) -> bool:
            told = page.value(ERRORS, cluster=cluster, collector=collector, kind=kind)
            return page.value("mq_exporter_collector_success", cluster=cluster, collector=collector) == 0 and bool(told)

        return look

    def await_failure(self, cluster: str, kind: str) -> None:
        self.exporter.until(f"{cluster}: {kind}", self.failing(cluster, kind), bool, PATIENCE)

    def await_recovery(self, cluster: str) -> None:
        def failing(page: Page) -> list[str]:
            found = page.by("mq_exporter_collector_success", "collector", cluster=cluster)
            return [name for name, good in found.items() if not good] if found else ["all"]

        self.exporter.until(f"{cluster} is read", failing, lambda seen: seen == [], PATIENCE)


@contextmanager
def changing(lab: Lab, folder: Path, **kafka: Any) -> Iterator[Changing]:
    ca, password = folder / "ca.pem", folder / "password"
    assert lab.kafka.keys is not None
    shutil.copy(lab.kafka.keys.ca, ca)
    write_secret(password, "first")
    sections = {"kafka": kafka_of(lab, cluster=KAFKA, **WATCHED), "rabbitmq": rabbitmq_of(lab, cluster=RABBITMQ)}
    client = {**sections["kafka"]["client"], "ssl.ca.location": str(ca), "sasl.username": CHANGING}
    sections["kafka"] |= {"client": client, "secrets": {"sasl.password": {"file": str(password)}}}
    sections["rabbitmq"] |= {"username": CHANGING, "password": {"file": str(password)}, "ca_file": str(ca)}
    with running(folder, {system: [section] for system, section in sections.items()}) as exporter:
        yield Changing(exporter, folder)


def set_passwords(lab: Lab, administration: Management, password: str) -> None:
    """Both brokers know the user by this password, and by no other."""
    kafka_security.set_password(lab.kafka.admin_client(), CHANGING, password)
    administration.put(f"users/{CHANGING}", {"password": password, "tags": "monitoring"})


def test_passwords_and_authorities_are_read_anew_without_a_restart(
    scene: Scene, administration: Management, tmp_path: Path
) -> None:
    """The old password is removed first, and the file follows; then a CA that signed none of the certificates."""
    lab = scene.lab
    set_passwords(lab, administration, "first")
    administration.put(f"permissions/%2F/{CHANGING}", {"configure": "^$", "write": "^$", "read": "^$"})
    administration.put(f"permissions/{VHOST}/{CHANGING}", {"configure": "^$", "write": "^$", "read": "^$"})
    kafka_security.allow(lab.kafka.admin_client(), CHANGING, *kafka_security.MONITOR_RIGHTS)
    with changing(lab, tmp_path) as changed:
        for cluster in (KAFKA, RABBITMQ):
            changed.await_recovery(cluster)
        check_password(changed, lab, administration)
        check_authority(changed, lab)
        log = changed.exporter.log.read_text()
    assert [] == [word for word in ("first-password", "second-password") if word in log]
    told = [line for line in log.splitlines() if "login refused" in line]
    assert {KAFKA, RABBITMQ} == {name for name in (KAFKA, RABBITMQ) for line in told if name in line}


def check_password(changed: Changing, lab: Lab, administration: Management) -> None:
    set_passwords(lab, administration, "second-password")
    for cluster in (KAFKA, RABBITMQ):
        changed.await_failure(cluster, "authentication")
    write_secret(changed.folder / "password", "second-password\n")
    for cluster in (KAFKA, RABBITMQ):
        changed.await_recovery(cluster)


def check_authority(changed: Changing, lab: Lab) -> None:
    """Kafka's logins are renewed by new connections, for which the file is read."""
    right = (changed.folder / "ca.pem").read_text()
    write_secret(changed.folder / "ca.pem", another_authority(changed.folder))
    changed.await_failure(KAFKA, "tls")
    write_secret(changed.folder / "ca.pem", right)
    changed.await_recovery(KAFKA)


def another_authority(folder: Path) -> str:
    """The certificate of an authority that signed nothing here."""
    (folder / "other").mkdir()
    return keys.authority(folder / "other", "somebody else").read_text()


def test_the_authority_of_rabbitmq_is_read_anew_without_a_restart(scene: Scene, tmp_path: Path) -> None:
    """Connections that stand are kept; a new one reads the file."""
    ca, rabbitmq = tmp_path / "ca.pem", scene.lab.rabbitmq
    assert rabbitmq.keys is not None
    ca.write_text(another_authority(tmp_path))
    reader = RabbitReader(RabbitMQ(**{**rabbitmq.watched(), "ca_file": ca, "timeout": 30.0}))
    try:
        kinds = {problem.kind.value for run in reader.poll().runs for problem in run.problems}
        assert {"tls"} == kinds
        ca.write_text(rabbitmq.keys.ca.read_text())
        assert {} == {run.name: run.problems for run in reader.poll().runs if run.problems}
    finally:
        reader.close()


def test_a_missing_right_is_in_the_log_and_on_the_status_page(scene: Scene, tmp_path: Path) -> None:
    """What a tired person sees."""
    lab, user = scene.lab, "blind"
    kafka_security.set_password(lab.kafka.admin_client(), user, lab.kafka.keys.password("kafka", user))  # type: ignore[union-attr]
    kafka_security.allow(lab.kafka.admin_client(), user, kafka_security.Right("Describe", "Cluster"))
    section = {**kafka_of(lab, cluster=KAFKA, **WATCHED), **lab.kafka.watched(user)}
    with running(tmp_path, {"kafka": [section]}) as exporter:
        line = f"missing right Describe on Topic {TOPIC} and 1 other: its offsets and everything about it are hidden"

        def lack(_: Page) -> bool:
            return line in exporter.log.read_text() and line in exporter.get("/").text

        exporter.until("the line is in the log and on the status page", lack)
        told = [text for text in exporter.log.read_text().splitlines() if line in text]
        assert 1 == len(told), told
        password = lab.kafka.keys.password("kafka", user)  # type: ignore[union-attr]
        shown = exporter.log.read_text() + "".join(
            exporter.get(path).text for path in ("/", "/metrics", "/api/v1/snapshot")
        )
        assert password not in shown
