"""Nodes of a real cluster: alarms, blocked connections, clocks, and nodes that are killed, frozen or too few."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pika
import pytest
from pika.adapters.blocking_connection import BlockingChannel

from drills.lab import Lab
from exporter.clients.rabbitmq.reader import RabbitReader
from exporter.model.rabbitmq import RabbitSnapshot
from tests.broker.labs import amqp
from tests.broker.rabbitmq.conftest import Readers, depth, measured, queue_of, success, until
from tests.mutations import fails_under
from tests.versions import has, where_had

HUGE = 9_000_000_000_000  # bytes: more than is free


def test_a_healthy_node_says_what_it_has(readers: Readers, lab: Lab) -> None:
    snapshot = readers(expected_nodes=3).poll()
    labels = [(name,) for name in lab.rabbitmq.names]
    for family in ("node_up", "node_memory_used_bytes", "node_memory_limit_bytes", "node_file_descriptors_used",
                   "node_file_descriptors_limit"):  # fmt: skip
        values = measured(snapshot, f"mq_rabbitmq_{family}")
        assert labels == sorted(values)
        assert all(value > 0 for value in values.values())
    assert dict.fromkeys(labels, 0) == measured(snapshot, "mq_rabbitmq_node_memory_alarm")
    partitioned = where_had(dict.fromkeys(labels, 0), "partitions")
    assert partitioned == measured(snapshot, "mq_rabbitmq_node_partitioned")
    assert {(): 3} == measured(snapshot, "mq_expected_nodes")
    for family in ("mq_disk_free_bytes", "mq_disk_free_limit_bytes"):
        assert all(value > 0 for value in measured(snapshot, family).values())
    assert [0, 0, 0] == list(measured(snapshot, "mq_disk_alarm").values())


def test_clocks_are_compared_with_ours(readers: Readers, lab: Lab) -> None:
    reader = readers()
    reader.poll()
    offsets = reader.poll().clock_offsets
    assert sorted(offsets) == sorted(lab.rabbitmq.names)
    assert all(abs(offset) < 3 for offset in offsets.values()), offsets  # one machine, one clock, ±1 s, and its load


@pytest.fixture
def alarmed(lab: Lab) -> Iterator[Callable[[], str]]:
    """Raises the disk alarm of the second node when called; lifted afterwards."""
    node = lab.rabbit_node("rabbitmq-2")

    def alarm() -> str:
        node.set_disk_limit(HUGE)
        return node.erlang_name

    yield alarm
    node.restore_disk_limit()


def alarms(snapshot: RabbitSnapshot) -> dict[str, float]:
    return {labels[1]: value for labels, value in measured(snapshot, "mq_disk_alarm").items()}


@pytest.mark.parametrize("settings", [{}, {"node_metrics": False}], ids=["by the nodes", "by the management API"])
def test_a_disk_alarm_is_seen_on_its_node_and_gone_when_lifted(
    readers: Readers, lab: Lab, alarmed: Callable[[], str], settings: dict[str, bool]
) -> None:
    reader = readers(**settings)
    none = dict.fromkeys(lab.rabbitmq.names, 0.0)
    until(reader, "no alarm", lambda seen: alarms(seen) == none)
    node = alarmed()
    until(reader, "the alarm", lambda seen: alarms(seen) == none | {node: 1.0})
    until(reader, "the limit, some seconds later", lambda seen: limits(seen)[node] == HUGE)
    lab.rabbit_node("rabbitmq-2").restore_disk_limit()
    until(reader, "no alarm", lambda seen: alarms(seen) == none)


def limits(snapshot: RabbitSnapshot) -> dict[str, float]:
    return {labels[1]: value for labels, value in measured(snapshot, "mq_disk_free_limit_bytes").items()}


def connections(snapshot: RabbitSnapshot, state: str) -> float:
    return sum(count for (_, its), count in measured(snapshot, "mq_rabbitmq_connections").items() if its == state)


def test_blocked_and_blocking_connections_are_counted(
    readers: Readers, lab: Lab, channel: BlockingChannel, alarmed: Callable[[], str]
) -> None:
    """A connection blocks when it publishes; one that does not is about to."""
    reader = readers()
    until(reader, "a running connection", lambda seen: connections(seen, "running") >= 1)
    zeros = {(name, state) for name in lab.rabbitmq.names for state in ("running", "blocking", "blocked", "flow")}
    assert zeros <= set(measured(reader.poll(), "mq_rabbitmq_connections"))
    publisher = pika.BlockingConnection(amqp(lab, 3))
    alarmed()
    publisher.channel().basic_publish("", "nobody", b"x")  # without confirms, so that it does not wait
    publisher.process_data_events(0)
    until(reader, "1 blocked", lambda seen: connections(seen, "blocked") == 1)
    until(reader, "blocking", lambda seen: connections(seen, "blocking") >= 1)
    lab.rabbit_node("rabbitmq-2").restore_disk_limit()
    until(reader, "none blocked", lambda seen: connections(seen, "blocked") == connections(seen, "blocking") == 0)
    publisher.close()


def ups(snapshot: RabbitSnapshot) -> dict[str, float]:
    return {name: value for (name,), value in measured(snapshot, "mq_rabbitmq_node_up").items()}


def check_a_killed_node_is_down_and_not_missing(reader: RabbitReader, lab: Lab) -> None:
    wanted = {name: 0.0 if name == lab.rabbitmq.names[2] else 1.0 for name in lab.rabbitmq.names}
    snapshot = until(reader, f"{wanted}", lambda seen: seen if ups(seen) == wanted else None, 30)
    assert 2 == len(measured(snapshot, "mq_rabbitmq_node_memory_used_bytes"))
    assert dict.fromkeys(lab.rabbitmq.names[:2], 0.0) == alarms(snapshot)


def test_a_killed_node_is_down_its_classic_queues_unknown_and_its_quorum_queues_live_on(
    readers: Readers, vhost_name: str, breakable_lab: Lab
) -> None:
    reader = readers(vhosts={"allow": [vhost_name]})
    declare_on_node_3(breakable_lab, vhost_name)
    until(reader, "1 in each", lambda seen: {depth(seen, vhost_name, name) for name in ("c", "q")} == {(1, 0)})
    breakable_lab.rabbit_node("rabbitmq-3").set_disk_limit(HUGE)  # gone with the node: no alarm is not "no alarm"
    until(reader, "its alarm", lambda seen: alarms(seen)[breakable_lab.rabbitmq.names[2]] == 1.0)
    breakable_lab.node("rabbitmq-3").kill()
    check_a_killed_node_is_down_and_not_missing(reader, breakable_lab)
    fails_under("dead_nodes_missing", check_a_killed_node_is_down_and_not_missing, reader, breakable_lab)
    assert (None, None) == depth(reader.poll(), vhost_name, "c")
    snapshot = until(reader, "q by its new leader", lambda seen: seen if replicas(seen, vhost_name, 2, True) else None)
    until(reader, "1 in q", lambda seen: depth(seen, vhost_name, "q") == (1, 0))
    assert success(snapshot)["nodes"]
    assert success(snapshot)["node_metrics"]  # a node that is down need not answer
    breakable_lab.node("rabbitmq-3").start()
    until(reader, "all up", lambda seen: set(ups(seen).values()) == {1.0})
    until(reader, "no alarm", lambda seen: alarms(seen) == dict.fromkeys(breakable_lab.rabbitmq.names, 0.0))


def declare_on_node_3(lab: Lab, vhost: str) -> None:
    """A classic queue `c` and a quorum queue `q` led by the third node, a message in each."""
    parameters = amqp(lab, 3, vhost)
    connection = pika.BlockingConnection(parameters)
    channel = connection.channel()
    channel.confirm_delivery()
    for name, kind in (("c", "classic"), ("q", "quorum")):
        channel.queue_declare(name, durable=True, arguments={"x-queue-type": kind})  # led where it is declared
        channel.basic_publish("", name, b"x", pika.BasicProperties(delivery_mode=2), mandatory=True)
    connection.close()


def replicas(snapshot: RabbitSnapshot, vhost: str, online: int, available: bool) -> bool:
    queue = queue_of(snapshot, vhost, "q")
    found = None if queue is None else queue.replicas
    return found is not None and (3, online, available) == (found.total, found.online, found.leader_available)


def test_a_quorum_queue_in_a_minority_has_no_leader(
    readers: Readers, channel: BlockingChannel, vhost_name: str, breakable_lab: Lab
) -> None:
    """3.10 says `running`, and names itself as the leader."""
    reader = readers(vhosts={"allow": [vhost_name]})
    channel.queue_declare("q", durable=True, arguments={"x-queue-type": "quorum"})
    until(reader, "3 of 3 online", lambda seen: replicas(seen, vhost_name, 3, True))
    check = check_leader_is_available(reader, vhost_name)
    check(1.0)
    for name in ("rabbitmq-2", "rabbitmq-3"):
        breakable_lab.node(name).kill()
    until(reader, "1 of 3 online", lambda seen: replicas(seen, vhost_name, 1, False))
    check(0.0)
    fails_under("believe_the_leader", check, 0.0)


def check_leader_is_available(reader: RabbitReader, vhost: str) -> Callable[[float], None]:
    def check(value: float) -> None:
        assert {(vhost, "q"): value} == measured(reader.poll(), "mq_rabbitmq_queue_leader_available")

    return check


TIMEOUT = 6.0 if has("queue_pages_at_once") else 11.0


def test_a_frozen_node_costs_two_timeouts_and_its_own_queues(
    readers: Readers, channel: BlockingChannel, vhost_name: str, breakable_lab: Lab
) -> None:
    """The management API of its healthy peers hangs; their own endpoints answer, and are used."""
    reader = readers(vhosts={"allow": [vhost_name]}, timeout=TIMEOUT)
    declare_on_node_3(breakable_lab, vhost_name)
    channel.queue_declare("healthy", durable=True)
    until(reader, "an empty queue", lambda seen: depth(seen, vhost_name, "healthy") == (0, 0))
    until(reader, "1 in c", lambda seen: depth(seen, vhost_name, "c") == (1, 0))
    breakable_lab.node("rabbitmq-3").pause()
    channel.basic_publish("", "healthy", b"x", mandatory=True)
    began = time.monotonic()
    snapshot = reader.poll()
    assert time.monotonic() - began < 3 * TIMEOUT
    if has("queue_pages_at_once"):  # with the longer time-out the node is taken for gone before it could fail
        fails_under("management_alone", check_healthy_queues_are_fresh, reader, vhost_name)
    check_healthy_queues_are_fresh(reader, vhost_name)
    began = time.monotonic()
    snapshot = reader.poll()
    assert time.monotonic() - began < 2 * TIMEOUT  # once it is known that all hang, one is tried
    assert (None, None) == depth(snapshot, vhost_name, "c")
    names = breakable_lab.rabbitmq.names
    assert {names[0]: 1.0, names[1]: 1.0, names[2]: 0.0} == ups(snapshot)
    assert {"queues", "overview", "node_metrics"} <= {name for name, good in success(snapshot).items() if not good}
    assert names[:2] == sorted(alarms(snapshot))
    assert ("classic", "work") == kind_and_role(snapshot, vhost_name, "healthy")


def check_healthy_queues_are_fresh(reader: RabbitReader, vhost: str) -> None:
    until(reader, "1 in the healthy node's queue", lambda seen: depth(seen, vhost, "healthy") == (1, 0), 4 * TIMEOUT)


def kind_and_role(snapshot: RabbitSnapshot, vhost: str, name: str) -> tuple[str, str] | None:
    queue = queue_of(snapshot, vhost, name)
    return None if queue is None else (queue.type, queue.role)


def test_polls_do_not_pile_up_threads_while_a_node_is_frozen(readers: Readers, breakable_lab: Lab) -> None:
    reader = readers(timeout=1)
    reader.poll()
    breakable_lab.node("rabbitmq-3").pause()
    for _ in range(4):
        reader.poll()
    before = threading.active_count()
    for _ in range(8):
        reader.poll()
    assert threading.active_count() <= before + 2


def test_a_stopped_management_node_is_left_for_the_next_url(readers: Readers, breakable_lab: Lab) -> None:
    urls = reader_urls(breakable_lab)
    reader = readers(urls=(urls[2], urls[0]))
    assert {True} == set(success(reader.poll()).values())
    breakable_lab.node("rabbitmq-3").stop()
    snapshot = until(reader, "the other URL", lambda seen: seen if success(seen)["queues"] else None)
    assert {urls[2]: False, urls[0]: True} == {url: up for url, up in snapshot.endpoints.items() if url in urls}
    assert urls[0] == reader.management.url
    again = reader.poll()
    assert {urls[2]: False, urls[0]: True} == {url: up for url, up in again.endpoints.items() if url in urls}
    breakable_lab.node("rabbitmq-3").start()
    until(reader, "both", lambda seen: {seen.endpoints[urls[2]], seen.endpoints[urls[0]]} == {True})


def reader_urls(lab: Lab) -> tuple[str, ...]:
    return tuple(lab.rabbitmq.plain_urls)
