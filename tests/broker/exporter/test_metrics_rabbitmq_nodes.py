"""Nodes of RabbitMQ on the page: what they have, alarms, what they threw away, and one that is killed.

Witnesses are the management API, /proc, the file system, and what the test itself did.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pika
import pytest
from pika.adapters.blocking_connection import BlockingChannel, BlockingConnection

from drills.lab import Lab
from drills.lab.rabbitmq import RabbitNode
from tests.broker.conftest import Management
from tests.broker.exporter.process import Exporter, Page, only, rabbitmq_of, running
from tests.broker.kafka.lag_world import wait
from tests.broker.labs import amqp
from tests.versions import needs, where_had

QUORUM = {"x-queue-type": "quorum"}
DEAD = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}
ONCE = {**QUORUM, **DEAD, "x-dead-letter-strategy": "at-least-once", "x-overflow": "reject-publish"}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "dead": {}, "rejected": DEAD, "expired": {**DEAD, "x-message-ttl": 1}, "short": {**DEAD, "x-max-length": 1},
    "patient": {**DEAD, **QUORUM, "x-delivery-limit": 1}, "careful": ONCE, "careless": {},
}  # fmt: skip
HUGE = 9_000_000_000_000  # bytes: more than is free
MEMORY_LIMIT = 1_500_000_000  # bytes, as the lab's nodes are configured
DISK_LIMIT = 50_000_000
Reasons = dict[tuple[str, str], float]


@dataclass(frozen=True)
class Scene:
    """The lab, the exporter that looks at it, and what the counters said before anything happened."""

    lab: Lab
    exporter: Exporter
    vhost: str
    management: Management
    dead_before: Reasons
    lost_before: dict[str, float]

    @property
    def names(self) -> list[str]:
        return self.lab.rabbitmq.names

    def node(self, number: int) -> RabbitNode:
        return self.lab.rabbit_node(f"rabbitmq-{number}")

    def told(self, name: str) -> dict[str, Any]:
        """A field of every node, as the management API has it now."""
        return {node["name"]: node[name] for node in self.management.get("nodes") if node.get(name) is not None}

    def connect(self, number: int) -> BlockingConnection:
        return pika.BlockingConnection(amqp(self.lab, number, self.vhost))


@pytest.fixture(scope="module")
def scene(lab: Lab, folder: Path, vhost: str, management: Management) -> Iterator[Scene]:
    section = rabbitmq_of(lab, vhosts=only(vhost), expected_nodes=3)
    with running(folder, {"rabbitmq": [section]}) as exporter:
        exporter.shows_value(1, "mq_exporter_collector_success", collector="node_metrics")
        page = exporter.page()
        made = Scene(lab, exporter, vhost, management, dead_letters(page), lost(page))
        connection = made.connect(1)
        go_wrong(connection)
        yield made
        connection.close()


def dead_letters(page: Page) -> Reasons:
    """By reason and strategy, over all nodes."""
    found: Reasons = {}
    for (_, reason, how), count in page.by("mq_rabbitmq_dead_lettered_total", ("node", "reason", "strategy")).items():
        found[reason, how] = found.get((reason, how), 0) + count
    return found


def lost(page: Page) -> dict[str, float]:
    """Unroutable messages by outcome, over all nodes."""
    found: dict[str, float] = {}
    for (_, outcome), count in page.by("mq_rabbitmq_unroutable_total", ("node", "outcome")).items():
        found[outcome] = found.get(outcome, 0) + count
    return found


def go_wrong(connection: BlockingConnection) -> None:
    """Dead letters of every reason, and messages that reach no queue."""
    channel = connection.channel()
    channel.confirm_delivery()
    for queue, arguments in ARGUMENTS.items():
        channel.queue_declare(queue, durable=True, arguments=arguments)
    for queue, count in {"rejected": 2, "careful": 1, "careless": 1}.items():
        publish(channel, queue, count)
        for _ in range(count):
            channel.basic_reject(channel.basic_get(queue)[0].delivery_tag, requeue=False)
    publish(channel, "expired", 3)
    publish(channel, "short", 3)
    publish(channel, "patient", 1)
    for _ in range(2):
        give_back(connection, "patient")
    for _ in range(2):
        with pytest.raises(pika.exceptions.UnroutableError):
            channel.basic_publish("", "nobody", b"x", mandatory=True)
    for _ in range(3):
        channel.basic_publish("", "nobody", b"x")


def give_back(connection: BlockingConnection, queue: str) -> None:
    """Take a message and close the channel: that counts as a delivery everywhere, `basic.nack` not from 4.3 on."""
    channel = connection.channel()
    wait(lambda: channel.basic_get(queue)[0], bool)
    channel.close()


def publish(channel: BlockingChannel, queue: str, count: int) -> None:
    for _ in range(count):
        channel.basic_publish("", queue, b"x", pika.BasicProperties(delivery_mode=2), mandatory=True)


def test_dead_letters_are_counted_by_reason_and_by_what_became_of_them(scene: Scene) -> None:
    wanted = {
        ("rejected", "at_most_once"): 2, ("expired", "at_most_once"): 3, ("maxlen", "at_most_once"): 2,
        ("delivery_limit", "at_most_once"): 1, ("rejected", "at_least_once"): 1, ("rejected", "disabled"): 1,
    }  # fmt: skip

    def since(page: Page) -> Reasons:
        now = dead_letters(page)
        return {
            at: count - scene.dead_before.get(at, 0)
            for at, count in now.items()
            if count > scene.dead_before.get(at, 0)
        }

    scene.exporter.until(f"{wanted}", since, lambda seen: seen == wanted)
    assert set(scene.names) == set(
        scene.exporter.page().by("mq_rabbitmq_dead_lettered_total", "node", reason="rejected", strategy="disabled")
    )


def test_messages_that_reach_no_queue_are_returned_or_dropped(scene: Scene) -> None:
    wanted = {"returned": 2.0, "dropped": 3.0}

    def since(page: Page) -> dict[str, float]:
        return {outcome: count - scene.lost_before.get(outcome, 0) for outcome, count in lost(page).items()}

    scene.exporter.until(f"{wanted}", since, lambda seen: seen == wanted)


def test_every_node_is_up_and_three_are_expected(scene: Scene) -> None:
    scene.exporter.shows(dict.fromkeys(scene.names, 1), "mq_rabbitmq_node_up", "node")
    scene.exporter.shows_value(3, "mq_expected_nodes")


def test_memory_in_use_is_near_what_the_kernel_says(scene: Scene) -> None:
    def off(page: Page) -> dict[str, float]:
        used = page.by("mq_rabbitmq_node_memory_used_bytes", "node")
        assert set(scene.names) == used.keys()
        return {name: used[name] / resident(scene.node(number)) for number, name in enumerate(scene.names, 1)}

    scene.exporter.until(
        "memory within a third of the resident size", off, lambda seen: all(2 / 3 < it < 3 / 2 for it in seen.values())
    )


def resident(node: RabbitNode) -> int:
    process = node.process()
    assert process is not None
    found = process.resident_bytes()
    assert found is not None
    return found


def test_the_memory_limit_is_the_one_in_force(scene: Scene) -> None:
    scene.exporter.shows(dict.fromkeys(scene.names, MEMORY_LIMIT), "mq_rabbitmq_node_memory_limit_bytes", "node")


def test_file_descriptors_are_what_the_kernel_allows_and_the_node_uses(scene: Scene) -> None:
    def allowed(node: RabbitNode) -> int:
        process = node.process()
        assert process is not None
        found = re.search(r"Max open files\s+(\d+)", Path(f"/proc/{process.pid}/limits").read_text())
        assert found is not None
        return int(found[1])

    limits = {name: allowed(scene.node(number)) for number, name in enumerate(scene.names, 1)}
    scene.exporter.shows(limits, "mq_rabbitmq_node_file_descriptors_limit", "node")
    scene.exporter.until(
        "descriptors in use as the management API tells them",
        lambda page: (page.by("mq_rabbitmq_node_file_descriptors_used", "node"), scene.told("fd_used")),
        lambda both: both[0] == both[1] and min(both[0].values()) > 0,
    )


def test_no_node_is_partitioned_or_alarmed_in_a_healthy_cluster(scene: Scene) -> None:
    zeros = dict.fromkeys(scene.names, 0)
    assert {name: [] for name in scene.names} == scene.told("partitions")
    scene.exporter.shows(where_had(zeros, "partitions"), "mq_rabbitmq_node_partitioned", "node")
    scene.exporter.shows(zeros, "mq_rabbitmq_node_memory_alarm", "node")
    scene.exporter.shows(zeros, "mq_disk_alarm", "node", system="rabbitmq")


def test_free_disk_is_what_the_file_system_says(scene: Scene) -> None:
    def off(page: Page) -> dict[tuple[str, str], float]:
        free = page.by("mq_disk_free_bytes", ("node", "dir"), system="rabbitmq")
        assert set(scene.names) == {node for node, _ in free}
        return {at: value for at, value in free.items() if abs(value / bytes_free(at[1]) - 1) > 0.02}

    scene.exporter.until("free bytes as the file system says, but for 2 %", off, lambda seen: seen == {})
    scene.exporter.shows(dict.fromkeys(scene.names, DISK_LIMIT), "mq_disk_free_limit_bytes", "node", system="rabbitmq")


def bytes_free(directory: str) -> int:
    disk = os.statvfs(directory)
    return disk.f_bavail * disk.f_frsize


def test_clocks_of_the_nodes_are_near_ours(scene: Scene) -> None:
    scene.exporter.until(
        "three clocks, all of this machine",
        lambda page: page.by("mq_clock_offset_seconds", "node"),
        lambda seen: seen.keys() == set(scene.names) and max(map(abs, seen.values())) < 10,
    )


@pytest.fixture
def alarms(scene: Scene) -> Iterator[Callable[[], None]]:
    """Raises a disk alarm on the second node and a memory alarm on the first when called; lifted afterwards."""

    def lift() -> None:
        scene.node(2).restore_disk_limit()
        scene.node(1).ctl("set_vm_memory_high_watermark", "absolute", str(MEMORY_LIMIT))

    with ExitStack() as stack:

        def alarm() -> None:
            stack.callback(lift)
            scene.node(2).set_disk_limit(HUGE)
            scene.node(1).ctl("set_vm_memory_high_watermark", "absolute", str(10_000_000))

        yield alarm


def test_alarms_are_seen_on_their_nodes_block_publishers_and_are_lifted(
    scene: Scene, alarms: Callable[[], None]
) -> None:
    zeros = dict.fromkeys(scene.names, 0)
    publisher = scene.connect(3)
    scene.exporter.until("running connections", lambda page: connections(page, "running"), lambda seen: seen >= 2)
    states = {(name, state) for name in scene.names for state in ("running", "blocking", "blocked", "flow")}
    assert states <= set(scene.exporter.page().by("mq_rabbitmq_connections", ("node", "state")))

    alarms()
    publisher.channel().basic_publish("", "nobody", b"x")  # without confirms, so that it does not wait
    publisher.process_data_events(0)
    scene.exporter.shows({**zeros, scene.names[1]: 1}, "mq_disk_alarm", "node", system="rabbitmq")
    scene.exporter.shows_value(HUGE, "mq_disk_free_limit_bytes", system="rabbitmq", node=scene.names[1])
    scene.exporter.shows({**zeros, scene.names[0]: 1}, "mq_rabbitmq_node_memory_alarm", "node")
    scene.exporter.shows_value(10_000_000, "mq_rabbitmq_node_memory_limit_bytes", node=scene.names[0])
    scene.exporter.until(
        "one blocked on its node, one about to be",
        lambda page: (connections(page, "blocked"), connections(page, "blocking"), page),
        lambda seen: seen[0] == 1 and seen[1] >= 1,
    )
    scene.exporter.shows_value(1, "mq_rabbitmq_connections", node=scene.names[2], state="blocked")

    scene.node(2).restore_disk_limit()
    scene.node(1).ctl("set_vm_memory_high_watermark", "absolute", str(MEMORY_LIMIT))
    scene.exporter.shows(zeros, "mq_disk_alarm", "node", system="rabbitmq")
    scene.exporter.shows(zeros, "mq_rabbitmq_node_memory_alarm", "node")
    scene.exporter.until(
        "none is blocked",
        lambda page: (connections(page, "blocked"), connections(page, "blocking")),
        lambda seen: seen == (0, 0),
    )
    publisher.close()


def connections(page: Page, state: str) -> float:
    return sum(page.by("mq_rabbitmq_connections", "node", state=state).values())


@needs("partitions")
def test_a_node_that_was_cut_off_is_seen_by_the_others_until_it_is_restarted(scene: Scene) -> None:
    """The third node loses its connections for a moment: Mnesia calls that a partition, and only a restart ends it."""
    near, far = scene.names[:2], scene.names[2]
    scene.node(3).evaluate("[erlang:disconnect_node(Node) || Node <- nodes()].")
    try:
        scene.exporter.until(
            "two nodes that were cut off from the third",
            lambda page: page.by("mq_rabbitmq_node_partitioned", "node"),
            lambda seen: {name: seen.get(name) for name in near} == dict.fromkeys(near, 1),
        )
        assert {name: [far] for name in near} == {name: scene.told("partitions")[name] for name in near}
    finally:
        scene.node(3).kill()
        scene.node(3).start(180)
    scene.exporter.shows(dict.fromkeys(scene.names, 1), "mq_rabbitmq_node_up", "node")
    scene.exporter.until(
        "nobody is partitioned any more",
        lambda page: page.by("mq_rabbitmq_node_partitioned", "node"),
        lambda seen: seen.keys() >= set(near) and not any(seen.values()),
    )


@pytest.fixture(scope="module")
def without_3(scene: Scene) -> Iterator[Scene]:
    """The third node is killed, with a classic queue and a quorum queue on it; for the last tests here."""
    connection = scene.connect(3)
    channel = connection.channel()
    channel.confirm_delivery()
    channel.queue_declare("there", durable=True)  # on the node that is asked
    channel.queue_declare("everywhere", durable=True, arguments=QUORUM)
    for queue in ("there", "everywhere"):
        publish(channel, queue, 2)
    connection.close()
    for queue in ("there", "everywhere"):
        scene.exporter.shows({queue: 2}, "mq_rabbitmq_queue_messages_ready", "queue", queue=queue)
    scene.exporter.shows_value(3, "mq_rabbitmq_queue_replicas_online", queue="everywhere")
    node = scene.node(3)
    node.kill()
    try:
        scene.exporter.shows_value(0, "mq_rabbitmq_node_up", node=scene.names[2])
        yield scene
    finally:
        node.start()
    scene.exporter.shows(dict.fromkeys(scene.names, 1), "mq_rabbitmq_node_up", "node")
    scene.exporter.shows_value(3, "mq_rabbitmq_queue_replicas_online", queue="everywhere")


def test_a_killed_node_is_down_and_not_missing_and_has_no_other_number(without_3: Scene) -> None:
    names = without_3.names
    without_3.exporter.shows({**dict.fromkeys(names, 1), names[2]: 0}, "mq_rabbitmq_node_up", "node")
    for name in (
        "mq_rabbitmq_node_memory_used_bytes",
        "mq_rabbitmq_node_file_descriptors_used",
        "mq_rabbitmq_node_memory_alarm",
    ):
        without_3.exporter.until(
            f"{name} of two nodes",
            lambda page, n=name: page.by(n, "node"),
            lambda seen: [*seen] == names[:2],  # type: ignore[misc]
        )
    disks = without_3.exporter.until("two disks", lambda page: page.by("mq_disk_alarm", "node", system="rabbitmq"))
    assert names[:2] == sorted(disks)
    without_3.exporter.shows_value(3, "mq_expected_nodes")


def test_a_quorum_queue_lives_on_with_two_of_three_replicas(without_3: Scene) -> None:
    where = {"queue": "everywhere"}
    without_3.exporter.shows_value(3, "mq_rabbitmq_queue_replicas", **where)
    without_3.exporter.shows_value(2, "mq_rabbitmq_queue_replicas_online", **where)
    without_3.exporter.shows_value(1, "mq_rabbitmq_queue_leader_available", **where)
    without_3.exporter.shows_value(2, "mq_rabbitmq_queue_messages_ready", **where)


def test_a_classic_queue_of_a_node_that_is_gone_has_no_depth_and_is_counted_as_withheld(without_3: Scene) -> None:
    without_3.exporter.shows({}, "mq_rabbitmq_queue_messages_ready", "queue", queue="there")
    without_3.exporter.until(
        "withheld queues are counted",
        lambda page: page.by("mq_exporter_items_skipped", "reason", collector="queues"),
        lambda seen: sum(seen.values()) >= 1,
    )
