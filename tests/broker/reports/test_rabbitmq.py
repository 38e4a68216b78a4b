"""Public reports about RabbitMQ's numbers, and about what asking for them costs."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qsl

import pika
import pytest
import requests
from pika.adapters.blocking_connection import BlockingChannel

from drills.lab import Lab
from exporter import budget
from exporter.budget import fit
from exporter.clients.rabbitmq.http import Answer, Client
from exporter.clients.rabbitmq.reader import RabbitReader
from exporter.metrics import registry
from exporter.model import rabbitmq_node_pages, rabbitmq_nodes, rabbitmq_streams
from exporter.model.rabbitmq import RabbitSnapshot
from tests.broker.conftest import Management
from tests.broker.labs import amqp
from tests.broker.rabbitmq.conftest import Readers, depth, measured, plain_urls, queue_of, success, until
from tests.broker.reports.decoding_proxy import decoding_proxy
from tests.broker.stream_protocol import StreamClient
from tests.mutations import fails_under, mutation

QUERY_OPTIONS = {"columns", "family", "name", "page", "page_size", "use_regex", "vhost"}
"""What every version since 3.10 takes. `sort` broke in 3.13."""
READY = "mq_rabbitmq_queue_messages_ready"


def by_node(snapshot: RabbitSnapshot, family: str) -> dict[str, float]:
    return {labels[1]: value for labels, value in measured(snapshot, family).items()}


@pytest.fixture
def blind(lab: Lab) -> Iterator[str]:
    """The second node does not know its free disk space, as after a `df` that failed or came too late."""
    node = lab.rabbit_node("rabbitmq-2")
    forget = (
        "sys:replace_state(rabbit_disk_monitor, fun(State) -> ets:delete(rabbit_disk_monitor, disk_free), State end)"
    )
    try:
        node.evaluate(f"ok = sys:suspend(rabbit_disk_monitor), {forget}, rabbit_disk_monitor:get_disk_free().")
        yield node.erlang_name
    finally:
        node.evaluate("sys:resume(rabbit_disk_monitor).")


@mutation
def text_is_zero(patch: pytest.MonkeyPatch) -> None:
    """Free space that a node does not know (`unknown`, `NaN`, or a sum of nothing) is taken for 0."""
    patch.setattr(rabbitmq_nodes, "_free", lambda item: item["disk_free"] if isinstance(item["disk_free"], int) else 0)
    plain = rabbitmq_node_pages._whole
    patch.setattr(rabbitmq_node_pages, "_whole", lambda number: plain(number) or 0)


@pytest.mark.plain  # the broker is asked as guest, without TLS
def test_free_space_that_the_broker_does_not_know_is_absent_and_nothing_else_is(
    readers: Readers, lab: Lab, blind: str
) -> None:
    for settings in ({}, {"node_metrics": False}):  # by the nodes' own pages, and by the management API alone
        reader = readers(**settings)
        until(reader, "free space of two", lambda seen: set(by_node(seen, "mq_disk_free_bytes")) == others(lab, blind))
        assert told(lab) <= {"0", "NaN", "unknown"}  # 3.10: 0 by the management API, NaN by the node
        check_unknown(reader, lab, blind)
        fails_under("text_is_zero", check_unknown, reader, lab, blind)


def told(lab: Lab) -> set[str]:
    """What the broker itself answers about the free space of the second node; later versions leave it out."""
    listed = requests.get(
        f"{plain_urls(lab)[0]}/api/nodes/{lab.rabbitmq.names[1]}", auth=("guest", "guest"), timeout=60
    )
    page = requests.get(f"{lab.rabbitmq.metrics[1]}/metrics", timeout=60).text
    lines = [line for line in page.splitlines() if line.startswith("rabbitmq_disk_space_available_bytes ")]
    return {str(listed.json().get("disk_free", "unknown")), *(line.split()[-1].strip("'") for line in lines)}


def others(lab: Lab, blind: str) -> set[str]:
    return set(lab.rabbitmq.names) - {blind}


def check_unknown(reader: RabbitReader, lab: Lab, blind: str) -> None:
    """No free space of that node, and a count that says so; its alarm and all else are there; no alarm is raised."""
    snapshot = reader.poll()
    assert {"unknown_free_space": 1} == dict(next(run for run in snapshot.runs if run.name == "nodes").skipped)
    assert others(lab, blind) == set(by_node(snapshot, "mq_disk_free_bytes"))
    assert dict.fromkeys(lab.rabbitmq.names, 0.0) == by_node(snapshot, "mq_disk_alarm")
    assert set(lab.rabbitmq.names) == {name for (name,) in measured(snapshot, "mq_rabbitmq_node_memory_used_bytes")}


@pytest.mark.parametrize("settings", [{}, {"node_metrics": False}], ids=["by the nodes", "by the management API"])
def test_one_address_shows_the_queues_that_every_node_leads(
    readers: Readers, lab: Lab, vhost_name: str, settings: dict[str, bool]
) -> None:
    """A load balancer gives one node, or now this one and now that one."""
    for number in (1, 2, 3):
        with pika.BlockingConnection(amqp(lab, number, vhost_name)) as connection:
            channel = connection.channel()
            channel.queue_declare(f"q{number}", durable=True)  # on the node that is asked
            for _ in range(number):
                channel.basic_publish("", f"q{number}", b"x", pika.BasicProperties(delivery_mode=2))
    wanted = {(vhost_name, f"q{number}", "classic", "work"): float(number) for number in (1, 2, 3)}
    for url in plain_urls(lab)[:2]:
        reader = readers(urls=(url,), vhosts={"allow": [vhost_name]}, **settings)
        until(reader, f"{wanted}", lambda seen: measured(seen, READY) == wanted)
        assert all(success(reader.poll()).values())


def test_counters_do_not_fall_when_their_queues_go(readers: Readers, channel: BlockingChannel, vhost_name: str) -> None:
    reader = readers(vhosts={"allow": [vhost_name]})
    for name in ("a", "b"):
        dead = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}
        channel.queue_declare(name, durable=True, arguments=dead)
        for _ in range(3):
            channel.basic_publish("", name, b"x", mandatory=True)
        channel.basic_reject(channel.basic_get(name)[0].delivery_tag, requeue=False)
    published = "mq_rabbitmq_queue_published_total"
    keys = {name: (vhost_name, name, "classic", "work") for name in ("a", "b")}
    until(reader, "3 each", lambda seen: {measured(seen, published).get(keys[name]) for name in keys} == {3.0})
    before = measured(reader.poll(), "mq_rabbitmq_dead_lettered_total")
    channel.queue_delete("a")
    snapshot = until(reader, "b alone", lambda seen: seen if queue_of(seen, vhost_name, "a") is None else None)
    assert keys["a"] not in measured(snapshot, published)
    assert 3.0 == measured(snapshot, published)[keys["b"]]
    after = measured(snapshot, "mq_rabbitmq_dead_lettered_total")
    assert before.keys() == after.keys()
    assert [] == [labels for labels, value in before.items() if after[labels] < value]


@pytest.mark.plain  # the socket below the client is reset
def test_clients_that_vanish_leave_no_connection_and_no_negative_number(readers: Readers, lab: Lab) -> None:
    """Five publishers whose sockets are reset, as when a pod is killed."""
    reader = readers()
    count = "mq_rabbitmq_connections"
    before = sum(measured(reader.poll(), count).values())
    connections = []
    for _ in range(5):
        made = pika.BlockingConnection(amqp(lab, 1))
        made.channel().basic_publish("", "nobody", b"x")
        made.process_data_events(0)
        connections.append(made)
    until(reader, "five more", lambda seen: sum(measured(seen, count).values()) == before + 5)
    for made in connections:
        wire = made._impl._transport._sock
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # RST instead of FIN
        wire.close()
    snapshot = until(reader, "five less", lambda seen: seen if sum(measured(seen, count).values()) == before else None)
    families, faults = registry.measure(snapshot)
    assert not faults
    negative = {family.name for family, samples in families.items() if any(value < 0 for value in samples.values())}
    assert negative <= {"mq_clock_offset_seconds"}


@pytest.fixture
def queries(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every path with its query that is asked for."""
    paths: list[str] = []
    get: Callable[..., Answer] = Client.get

    def noting(self: Client, url: str, path: str, login: bool, patience: float, by: float) -> Answer:
        paths.append(path)
        return get(self, url, path, login, patience, by)

    monkeypatch.setattr(Client, "get", noting)
    return paths


def test_listings_are_asked_with_plain_options_alone(readers: Readers, queries: list[str]) -> None:
    for settings in ({}, {"queues": {"allow": ["some.*"]}}, {"vhosts": {"allow": ["/"]}}):
        reader = readers(slow_interval=0.001, **settings)
        reader.poll()
        assert all(success(reader.poll()).values())
    used = {name for path in queries for name, _ in parse_qsl(path.partition("?")[2])}
    assert {"columns", "name"} <= used <= QUERY_OPTIONS


@pytest.mark.plain  # the proxy speaks HTTP and passes logins on
def test_a_proxy_that_undoes_the_slash_of_a_vhost_costs_nothing(
    readers: Readers, lab: Lab, rabbit_connection: pika.BlockingConnection
) -> None:
    """A filter that names `/` asks by path; where that is undone on the way, the whole listing is taken."""
    with pika.BlockingConnection(amqp(lab, 1, "/")) as connection:
        channel = connection.channel()
        channel.queue_declare("reports-proxy", durable=True)
        try:
            channel.basic_publish("", "reports-proxy", b"x")
            with decoding_proxy(plain_urls(lab)[0]) as (url, passed):
                reader = readers(urls=(url,), vhosts={"allow": ["/"]}, node_metrics=False)
                until(reader, "1 ready", lambda seen: depth(seen, "/", "reports-proxy") == (1, 0))
                assert success(reader.poll())["queues"]
                assert "/api/queues//" in passed
        finally:
            channel.queue_delete("reports-proxy")


BUDGET = 100


@mutation
def budget_as_the_list_comes(patch: pytest.MonkeyPatch) -> None:
    """What stays within the budget is what the broker happened to list first, and that changes."""
    turns = iter(range(1_000_000))
    plain = budget.choose

    def choose(sizes: dict[Any, int], weight: dict[Any, float], room: int, before: frozenset[Any]) -> frozenset[Any]:
        at = next(turns) % 2
        return plain(sizes, {unit: float(index) * (-1) ** at for index, unit in enumerate(sizes)}, room, frozenset())

    patch.setattr(budget, "choose", choose)


def test_the_queues_within_the_budget_are_the_deepest_and_the_same_at_each_poll(
    readers: Readers, channel: BlockingChannel, vhost_name: str
) -> None:
    reader = readers(vhosts={"allow": [vhost_name]})
    wanted = {}
    for number in range(1, 9):
        channel.queue_declare(f"q{number}", durable=True)
        for _ in range(3 * number):
            channel.basic_publish("", f"q{number}", b"x", mandatory=True)
        wanted[vhost_name, f"q{number}", "classic", "work"] = 3.0 * number
    until(reader, "all depths", lambda seen: measured(seen, READY) == wanted)
    until(reader, "all counters", lambda seen: len(measured(seen, "mq_rabbitmq_queue_published_total")) == 8)
    check_budget(reader)
    fails_under("budget_as_the_list_comes", check_budget, reader)


def check_budget(reader: RabbitReader) -> None:
    """Never more series than allowed, the deepest queues whole, the same ones over six polls, the rest counted."""
    kept: frozenset[Any] = frozenset()
    chosen = []
    for _ in range(6):
        families, _ = registry.measure(reader.poll())
        total = sum(map(len, families.values()))
        found = fit(families, BUDGET, kept)
        kept = found.kept
        left = sum(map(len, found.measured.values()))
        assert (left <= BUDGET, found.dropped) == (True, total - left)
        ready = next(samples for family, samples in found.measured.items() if family.name == READY)
        chosen.append(sorted(name for _, name, *_ in ready))
    assert 0 < len(chosen[0]) < 8
    assert chosen == [[f"q{number}" for number in range(9 - len(chosen[0]), 9)]] * 6


STREAM = "quiet"


@mutation
def a_consumer_begins_at_offset_0(patch: pytest.MonkeyPatch) -> None:
    """Believe the lag of a consumer that has got nothing yet."""
    patch.setattr(rabbitmq_streams, "has_begun", lambda _: True)


def test_a_consumer_that_waits_at_the_end_of_a_quiet_stream_has_no_lag_until_it_has_an_offset(
    readers: Readers, lab: Lab, management: Management, channel: BlockingChannel, vhost_name: str
) -> None:
    """3.10 tells the whole stream as its lag."""
    channel.queue_declare(STREAM, durable=True, arguments={"x-queue-type": "stream"})
    for _ in range(10):
        channel.basic_publish("", STREAM, b"x", mandatory=True)
    reader = readers(vhosts={"allow": [vhost_name]}, slow_interval=0.1)
    with StreamClient(lab.rabbitmq, vhost_name) as client:
        client.subscribe(STREAM, "reading", offset=0, credit=1)
        client.subscribe_at_next(STREAM, "waiting", credit=1)
        until(reader, "the reader's lag", lambda seen: lags_of(seen).get("reading") == 9.0)
        told = until(reader, "the broker tells of the one that waits", lambda _: told_lag(management))
        check_waiting(reader)
        if told > 0:
            fails_under("a_consumer_begins_at_offset_0", check_waiting, reader, 30.0)
        channel.basic_publish("", STREAM, b"x", mandatory=True)
        until(reader, "both", lambda seen: lags_of(seen) == {"reading": 10.0, "waiting": 0.0})


def told_lag(management: Management) -> int | None:
    """What the broker says of the consumer that waits: 9 in 3.10, 0 where that was mended; None: nothing yet."""
    consumers = management.get("stream/consumers")
    return max(
        (int(row["offset_lag"]) for row in consumers if row["properties"].get("name") == "waiting"), default=None
    )


def check_waiting(reader: RabbitReader, seconds: float = 0.0) -> None:
    """No lag, or none told; of every poll for so long, as a poll may have what was read just before."""
    deadline = time.monotonic() + seconds
    while True:
        assert lags_of(reader.poll()) in ({"reading": 9.0}, {"reading": 9.0, "waiting": 0.0})
        if time.monotonic() > deadline:
            return


def lags_of(snapshot: RabbitSnapshot) -> dict[str, float]:
    return {labels[2]: lag for labels, lag in measured(snapshot, "mq_rabbitmq_stream_consumer_lag_offsets").items()}
