"""Queues and streams of RabbitMQ on the page, beside the test's own ledger and the management API.

One exporter watches the cluster twice: with the node's command line (`cli`), and without.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pika
import pytest
from pika.adapters.blocking_connection import BlockingChannel

from drills.lab import Lab
from tests.broker.conftest import Management
from tests.broker.exporter.process import STALE_AFTER, TIMEOUT, Exporter, Page, cli_of, only, rabbitmq_of, running
from tests.broker.labs import amqp
from tests.broker.stream_protocol import StreamClient

PLAIN, CLI = "plain", "cli"
QUORUM, STREAM = {"x-queue-type": "quorum"}, {"x-queue-type": "stream"}
DEAD = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}
TO_WAIT = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "wait"}
WAIT = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "loop", "x-message-ttl": 3_600_000}
HELD = {
    "x-queue-type": "quorum", "x-dead-letter-exchange": "missing", "x-dead-letter-strategy": "at-least-once",
    "x-overflow": "reject-publish",
}  # fmt: skip
ARGUMENTS: dict[str, dict[str, Any]] = {
    "busy": {}, "moved": QUORUM, "stamped": {}, "work": DEAD, "dead": {}, "loop": TO_WAIT, "wait": WAIT,
    "held": HELD, "log": STREAM, "bare": QUORUM,
}  # fmt: skip
LABELS = {
    "busy": ("classic", "work"), "moved": ("quorum", "work"), "stamped": ("classic", "work"),
    "work": ("classic", "work"), "dead": ("classic", "dlq"), "loop": ("classic", "work"), "wait": ("classic", "retry"),
    "held": ("quorum", "work"), "bare": ("quorum", "work"),
}  # fmt: skip
AT = ("queue", "type", "role")
STORED = 1


@dataclass
class Scene:
    """What was put in (`times`: queue -> when its oldest message was published), and the exporter that looks at it."""

    exporter: Exporter
    vhost: str
    management: Management
    times: dict[str, float] = field(default_factory=dict)

    def told(self, name: str) -> dict[str, Any]:
        """A field of every queue, as the management API has it now."""
        queues = self.management.get(f"queues/{quote(self.vhost, safe='')}")
        return {queue["name"]: queue[name] for queue in queues if queue.get(name) is not None}


def labelled(values: dict[str, float]) -> dict[tuple[str, str, str], float]:
    """By queue, type and role."""
    return {(queue, *LABELS[queue]): value for queue, value in values.items()}


@pytest.fixture(scope="module")
def scene(lab: Lab, folder: Path, vhost: str, management: Management) -> Iterator[Scene]:
    connection = pika.BlockingConnection(amqp(lab, 1, vhost))
    channel = connection.channel()
    channel.confirm_delivery()
    for queue, arguments in ARGUMENTS.items():
        channel.queue_declare(queue, durable=True, arguments=arguments)
    mine = rabbitmq_of(lab, vhosts=only(vhost))
    slowly = {"interval": 10, "slow_interval": 10, "timeout": 3 * TIMEOUT}
    config = {"rabbitmq": [{**mine, "cluster": PLAIN}, {**mine, "cluster": CLI, **slowly, **cli_of(lab)}]}
    with running(folder, config) as exporter, StreamClient(lab.rabbitmq, vhost) as streams:
        made = Scene(exporter, vhost, management)
        empty = labelled(dict.fromkeys(LABELS, 0))
        exporter.shows(empty, "mq_rabbitmq_queue_messages_ready", AT, cluster=PLAIN)
        fill(made, channel)
        held = connection.channel()
        consume(held, made.times)
        streams.store("log", "stored", STORED)
        streams.subscribe("log", "connected", offset=0, credit=1)
        yield made
    connection.close()


def publish(made: Scene, channel: BlockingChannel, queue: str, count: int, **properties: Any) -> None:
    for _ in range(count):
        began = time.time()
        given = pika.BasicProperties(delivery_mode=2, **properties)
        channel.basic_publish("", queue, b"x", given, mandatory=True)
        made.times.setdefault(queue, began)


def reject(channel: BlockingChannel, queue: str, count: int) -> None:
    for _ in range(count):
        method, _, _ = channel.basic_get(queue)
        channel.basic_reject(method.delivery_tag, requeue=False)


def fill(made: Scene, channel: BlockingChannel) -> None:
    """Everything but the consumer of `busy`."""
    publish(made, channel, "log", 6)
    publish(made, channel, "bare", 1)
    publish(made, channel, "moved", 1)
    channel.basic_nack(channel.basic_get("moved")[0].delivery_tag, requeue=True)
    channel.basic_ack(channel.basic_get("moved")[0].delivery_tag)  # the second delivery is a redelivery
    publish(made, channel, "moved", 4)
    made.times["stamped"] = float(int(time.time()) - 1000)
    publish(made, channel, "stamped", 2, timestamp=int(made.times["stamped"]))
    publish(made, channel, "work", 3)
    reject(channel, "work", 3)
    publish(made, channel, "loop", 1)
    reject(channel, "loop", 1)
    publish(made, channel, "held", 2)
    reject(channel, "held", 2)
    publish(made, channel, "busy", 7)


def consume(channel: BlockingChannel, times: dict[str, float]) -> None:
    """A consumer of `busy` that acknowledges one and holds three."""
    got: list[int] = []
    channel.basic_qos(prefetch_count=3)
    channel.basic_consume("busy", lambda _channel, method, _properties, _body: got.append(method.delivery_tag))
    for wanted in (3, 4):
        while len(got) < wanted:
            channel.connection.process_data_events(1)
        if wanted == 3:
            channel.basic_ack(got[0])


READY = {"busy": 3, "moved": 4, "stamped": 2, "work": 0, "dead": 3, "loop": 0, "wait": 1, "held": 0, "bare": 1}
UNACKNOWLEDGED = {**dict.fromkeys(READY, 0), "busy": 3}


@pytest.mark.parametrize("cluster", [PLAIN, CLI])
def test_ready_and_unacknowledged_are_what_was_put_in_and_taken(scene: Scene, cluster: str) -> None:
    scene.exporter.shows(labelled(READY), "mq_rabbitmq_queue_messages_ready", AT, cluster=cluster)
    scene.exporter.shows(labelled(UNACKNOWLEDGED), "mq_rabbitmq_queue_messages_unacknowledged", AT, cluster=cluster)


def test_consumers_are_counted(scene: Scene) -> None:
    """A consumer of the stream protocol is not one of the queue's own count."""
    wanted = labelled({**dict.fromkeys(READY, 0), "busy": 1})
    scene.exporter.until(
        "the consumers of queues",
        lambda page: page.by("mq_rabbitmq_queue_consumers", AT, cluster=PLAIN),
        lambda seen: {at: value for at, value in seen.items() if at[1] != "stream"} == wanted,
    )


def test_published_is_what_was_published_and_no_dead_letter(scene: Scene) -> None:
    wanted = {"busy": 7, "moved": 5, "stamped": 2, "work": 3, "loop": 1, "held": 2, "bare": 1, "dead": 0, "wait": 0}
    shows_queues(scene, wanted, "mq_rabbitmq_queue_published_total")


def test_delivered_counts_consumers_gets_and_redeliveries(scene: Scene) -> None:
    wanted = {"busy": 4, "moved": 2, "stamped": 0, "work": 3, "loop": 1, "held": 2, "bare": 0, "dead": 0, "wait": 0}
    shows_queues(scene, wanted, "mq_rabbitmq_queue_delivered_total")


def test_acknowledged_counts_no_rejection(scene: Scene) -> None:
    wanted = {**dict.fromkeys(READY, 0), "busy": 1, "moved": 1}
    shows_queues(scene, wanted, "mq_rabbitmq_queue_acknowledged_total")


def test_redelivered_counts_what_came_back(scene: Scene) -> None:
    shows_queues(scene, {**dict.fromkeys(READY, 0), "moved": 1}, "mq_rabbitmq_queue_redelivered_total")


def shows_queues(scene: Scene, wanted: dict[str, float], name: str) -> None:
    """Wait until it is so, streams apart."""
    scene.exporter.until(
        f"{name} = {wanted}",
        lambda page: page.by(name, AT, cluster=PLAIN),
        lambda seen: {at: value for at, value in seen.items() if at[1] != "stream"} == labelled(wanted),
    )


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("mq_rabbitmq_queue_memory_bytes", "memory"),
        ("mq_rabbitmq_queue_consumer_capacity_ratio", "consumer_capacity"),
    ],
)
def test_memory_and_capacity_are_what_the_management_api_tells(scene: Scene, name: str, field: str) -> None:
    seen = scene.exporter.until(
        f"{name} as the management API tells it",
        lambda page: (page.by(name, "queue", cluster=PLAIN), scene.told(field)),
        lambda both: both[0].keys() >= {"busy", "moved"} and both[0] == {q: both[1].get(q) for q in both[0]},
    )
    assert all(value >= 0 for value in seen[0].values())


def test_a_stream_has_what_it_retains_and_no_backlog(scene: Scene) -> None:
    """Six messages, and the record in which the broker keeps the stored offset."""
    scene.exporter.shows({"log": 7}, "mq_rabbitmq_stream_retained_messages", "queue", cluster=PLAIN)
    page = scene.exporter.page()
    assert "log" not in page.by("mq_rabbitmq_queue_messages_ready", "queue", cluster=PLAIN)
    assert "log" not in page.by("mq_rabbitmq_queue_messages_unacknowledged", "queue", cluster=PLAIN)


def test_a_stored_offset_has_its_lag_where_the_command_line_may_be_run(scene: Scene) -> None:
    """To the last offset of all that the stream retains: that of the record with the stored offset itself."""
    retained = scene.exporter.until(
        "the management API counts six messages and that record (now and then it says 0 for a stream)",
        lambda _: int(scene.told("messages")["log"]),
        lambda seen: seen == 7,
    )
    last = retained - 1
    wanted = {"stored": last - STORED}
    scene.exporter.shows(wanted, "mq_rabbitmq_stream_consumer_lag_offsets", "consumer", queue="log", cluster=CLI)


def test_a_connected_consumer_has_the_lag_that_the_management_api_tells(scene: Scene) -> None:
    def both(page: Page) -> tuple[dict[str, float], dict[str, float]]:
        found = scene.management.get("stream/consumers")
        told = {row["properties"]["name"]: row["offset_lag"] for row in found if row["queue"]["vhost"] == scene.vhost}
        name = "mq_rabbitmq_stream_consumer_lag_offsets"
        return page.by(name, "consumer", queue="log", cluster=PLAIN), told

    seen, _ = scene.exporter.until("the same lag", both, lambda pair: pair[0] == pair[1] and bool(pair[0]))
    assert {"connected"} == seen.keys()


def test_members_of_quorum_queues_and_streams_are_three_all_online_with_a_leader(scene: Scene) -> None:
    """With fewer: test_metrics_rabbitmq_nodes.py."""
    replicated = ("moved", "held", "bare", "log")
    where = {"cluster": PLAIN}
    scene.exporter.shows(dict.fromkeys(replicated, 3), "mq_rabbitmq_queue_replicas", "queue", **where)
    scene.exporter.shows(dict.fromkeys(replicated, 3), "mq_rabbitmq_queue_replicas_online", "queue", **where)
    scene.exporter.shows(dict.fromkeys(replicated, 1), "mq_rabbitmq_queue_leader_available", "queue", **where)


def test_dead_letters_that_can_go_nowhere_are_held_at_their_source(scene: Scene) -> None:
    wanted = {"moved": 0, "held": 2, "bare": 0}
    scene.exporter.until(
        "two held dead letters",
        lambda page: page.by("mq_rabbitmq_queue_held_dead_letter_messages", "queue", cluster=PLAIN),
        lambda seen: {queue: value for queue, value in seen.items() if queue != "log"} == wanted,
    )


def test_a_real_head_timestamp_is_the_age_of_a_classic_queue(scene: Scene) -> None:
    age = "mq_rabbitmq_queue_oldest_message_age_seconds"
    for cluster in (PLAIN, CLI):
        scene.exporter.shows_age(scene.times["stamped"], age, queue="stamped", cluster=cluster)
        method = {"queue": "stamped", "cluster": cluster}
        scene.exporter.shows({"head_timestamp": 1}, "mq_rabbitmq_queue_oldest_message_age_info", "method", **method)


def test_an_empty_queue_has_the_age_0(scene: Scene) -> None:
    age = "mq_rabbitmq_queue_oldest_message_age_seconds"
    scene.exporter.shows({("classic", "work"): 0}, age, ("type", "role"), queue="work", cluster=PLAIN)


def test_the_broker_itself_tells_the_age_of_a_quorum_queue_where_the_command_line_may_be_run(scene: Scene) -> None:
    where = {"queue": "bare", "cluster": CLI}
    scene.exporter.shows({"broker": 1}, "mq_rabbitmq_queue_oldest_message_age_info", "method", **where)
    scene.exporter.shows_age(scene.times["bare"], "mq_rabbitmq_queue_oldest_message_age_seconds", **where)
    scene.exporter.shows({}, "mq_rabbitmq_queue_age_error_bound_seconds", AT, **where)


def test_without_it_the_age_is_estimated_and_the_true_one_is_within_the_bound(scene: Scene) -> None:
    """The true age as of the broker's statistics, which are a few seconds old."""
    where = {"queue": "bare", "cluster": PLAIN}
    scene.exporter.shows({"history": 1}, "mq_rabbitmq_queue_oldest_message_age_info", "method", **where)

    def off(page: Page) -> str | None:
        age = page.value("mq_rabbitmq_queue_oldest_message_age_seconds", **where)
        bound = page.value("mq_rabbitmq_queue_age_error_bound_seconds", **where)
        since = scene.times["bare"]
        oldest, youngest = time.time() - since, page.at - since - STALE_AFTER * scene.exporter.interval
        good = age is not None and bound is not None and age - bound <= oldest and youngest <= age + bound
        return None if good else f"{age} +- {bound}, true between {youngest} and {oldest}"

    scene.exporter.until("the true age is within the bound", off, lambda seen: seen is None)
