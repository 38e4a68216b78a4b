"""Queues as a real cluster has them: names of every kind, depths, counters, deletion."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pika
import pytest
from pika.adapters.blocking_connection import BlockingChannel

from drills.lab import Lab
from exporter.model.rabbitmq import QueueName, RabbitSnapshot
from tests.broker.conftest import Management
from tests.broker.labs import amqp
from tests.broker.rabbitmq.conftest import Readers, depth, measured, path_of, queue_of, success, until
from tests.mutations import fails_under
from tests.versions import has, needs

NAMES = {
    "plain": "classic", 'has "quote"': "quorum", "back\\slash": "classic", "tail\\": "quorum", "pct%2Fslash": "classic",
    "a/b": "quorum", 'comma,x="y"': "classic", "br{ace} 7": "quorum", "üñí 漢字": "classic", "sp ace": "quorum",
}  # fmt: skip
STREAM = "a stream"
VHOST = 'we"ird\\v h%2F ü'


@pytest.fixture(scope="module")
def named(lab: Lab, management: Management) -> Iterator[dict[QueueName, int]]:
    """Queues of every kind of name, in `/` and in a vhost of such a name, each with another number of messages."""
    management.make_vhost(VHOST)
    put = {}
    for number, vhost in ((1, "/"), (2, VHOST)):
        connection = pika.BlockingConnection(amqp(lab, number, vhost))
        opened = connection.channel()
        opened.confirm_delivery()
        for count, (name, kind) in enumerate([*NAMES.items(), (STREAM, "stream")]):
            opened.queue_declare(name, durable=True, arguments={"x-queue-type": kind})
            for _ in range(count):
                opened.basic_publish("", name, b"x", mandatory=True)
            put[QueueName(vhost, name)] = count
        connection.close()
    yield put
    for name in [*NAMES, STREAM]:
        management.delete(f"queues/%2F/{path_of(name)}")
    management.delete(f"vhosts/{path_of(VHOST)}")


def counts(snapshot: RabbitSnapshot, named: dict[QueueName, int]) -> dict[QueueName, int | None]:
    return {
        queue.id: queue.retained if queue.type == "stream" else queue.ready
        for queue in snapshot.queues
        if queue.id in named
    }


def check_every_name_has_its_own_depth(readers: Readers, named: dict[QueueName, int], **settings: Any) -> None:
    reader = readers(**settings)
    wanted = {name: count for name, count in named.items() if reader.config.vhosts.admits(name.vhost)}
    until(reader, f"{wanted}", lambda snapshot: counts(snapshot, named) == wanted, 45)
    types = {queue.id.name: queue.type for queue in reader.poll().queues if queue.id in wanted}
    assert {**NAMES, STREAM: "stream"} == types


def test_every_name_has_its_own_depth(readers: Readers, named: dict[QueueName, int]) -> None:
    check_every_name_has_its_own_depth(readers, named)


def test_the_nodes_own_word_is_understood(readers: Readers, named: dict[QueueName, int]) -> None:
    """Depths come from the nodes' pages, where 3.10 writes names unescaped, also when the listing can't be had."""
    reader = readers()
    check = check_nodes_know_every_queue
    until(reader, "a good listing", lambda snapshot: counts(snapshot, named) == named)
    check(readers, named)
    if has("names_unescaped"):
        fails_under("labels_taken_as_escaped", check, readers, named)


def check_nodes_know_every_queue(readers: Readers, named: dict[QueueName, int]) -> None:
    reader = readers()
    reader.poll()
    reader.known.hidden = frozenset()
    words = reader.endpoints
    words.begin()
    words.start()
    from exporter.model.rabbitmq_node_pages import read_depths, spellings

    known = spellings(reader.known.queues)
    pages = words.collect().pages
    assert 3 == len(pages)
    found = {}
    for page in pages.values():
        depths, strangers = read_depths(page.detailed or "", known)
        assert set() == strangers
        found.update(depths)
    assert named == {name: found[name].messages for name in named}


def test_the_slash_vhost_is_encoded_once(readers: Readers, named: dict[QueueName, int]) -> None:
    """A filter that names vhosts asks for each by its path."""
    settings = {"vhosts": {"allow": ["/"]}, "node_metrics": False}
    check_every_name_has_its_own_depth(readers, named, **settings)
    check_asked_by_path(readers, **settings)
    fails_under("double_encode_vhost", check_asked_by_path, readers, **settings)


def check_asked_by_path(readers: Readers, **settings: Any) -> None:
    reader = readers(**settings)
    asked: list[str] = []
    get = reader.management.get

    def noting(path: str, more_patience: float = 0.0) -> Any:
        asked.append(path.partition("?")[0])
        return get(path, more_patience)

    reader.management.get = noting  # type: ignore[method-assign]
    reader.poll()
    assert ["queues/%2F"] == [path for path in asked if path.startswith("queues")]


def test_filters_leave_the_rest_out(readers: Readers, named: dict[QueueName, int]) -> None:
    reader = readers(queues={"allow": ["back.*", "sp ace", "ü.*"], "deny": ["sp.*"]}, vhosts={"allow": ["/", "none"]})
    wanted = {QueueName("/", "back\\slash"), QueueName("/", "üñí 漢字")}
    assert wanted == {queue.id for queue in reader.poll().queues}
    assert all(success(reader.poll()).values())


@pytest.mark.parametrize("kind", ["classic", "quorum"])
def test_ready_and_unacknowledged_and_what_went_through(
    readers: Readers, channel: BlockingChannel, vhost_name: str, kind: str
) -> None:
    reader = readers(vhosts={"allow": [vhost_name]})
    channel.queue_declare("q", durable=True, arguments={"x-queue-type": kind})
    for _ in range(7):
        channel.basic_publish("", "q", b"x", mandatory=True)
    channel.basic_qos(prefetch_count=3)
    got: list[int] = []
    channel.basic_consume("q", lambda _c, method, _p, _b: got.append(method.delivery_tag))
    while len(got) < 3:
        channel.connection.process_data_events(1)
    channel.basic_ack(got[0])
    while len(got) < 4:
        channel.connection.process_data_events(1)

    def settled(snapshot: RabbitSnapshot) -> bool:
        queue = queue_of(snapshot, vhost_name, "q")
        return queue is not None and (3, 3, 1, 7, 1) == (
            queue.ready,
            queue.unacknowledged,
            queue.consumers,
            queue.counters.published,
            queue.counters.acknowledged,
        )

    until(reader, "3 ready, 3 unacknowledged, 7 published, 1 acknowledged", settled)
    queue = queue_of(
        until(reader, "deliveries", lambda s: s if delivered(s, vhost_name) == 4 else None), vhost_name, "q"
    )
    assert queue is not None
    assert (0, kind, "work") == (queue.counters.redelivered, queue.type, queue.role)
    until(reader, "memory and capacity", lambda seen: has_memory(seen, vhost_name))


def has_memory(snapshot: RabbitSnapshot, vhost: str) -> bool:
    queue = queue_of(snapshot, vhost, "q")
    return queue is not None and bool(queue.memory_bytes) and queue.consumer_capacity is not None


def delivered(snapshot: RabbitSnapshot, vhost: str) -> int | None:
    queue = queue_of(snapshot, vhost, "q")
    return None if queue is None else queue.counters.delivered


@needs("statistics_begin_unknown")
def test_a_queue_just_declared_is_unknown_and_not_empty(
    readers: Readers, channel: BlockingChannel, vhost_name: str
) -> None:
    reader = readers(vhosts={"allow": [vhost_name]}, node_metrics=False)
    reader.poll()
    channel.queue_declare("fresh", durable=True, arguments={"x-queue-type": "quorum"})
    for _ in range(5):
        channel.basic_publish("", "fresh", b"x", mandatory=True)
    seen = []

    def known(snapshot: RabbitSnapshot) -> bool:
        ready = measured(snapshot, "mq_rabbitmq_queue_messages_ready")
        run = next(run for run in snapshot.runs if run.name == "queues")
        seen.append((ready.get((vhost_name, "fresh", "quorum", "work")), run.skipped.get("no_statistics", 0)))
        return seen[-1][0] is not None

    until(reader, "a depth", known)
    assert {(None, 1), (5, 0)} == set(seen)  # never (0, 0)


def test_a_deleted_queue_is_gone_and_a_new_one_of_its_name_starts_afresh(
    readers: Readers, channel: BlockingChannel, vhost_name: str
) -> None:
    reader = readers(vhosts={"allow": [vhost_name]})
    channel.queue_declare("q", durable=True)
    for _ in range(4):
        channel.basic_publish("", "q", b"x", mandatory=True)
    until(reader, "4 ready and 4 published", lambda s: published(s, vhost_name) == (4, 4))
    channel.queue_delete("q")
    assert None is queue_of(reader.poll(), vhost_name, "q")
    channel.queue_declare("q", durable=True, arguments={"x-queue-type": "quorum"})
    channel.basic_publish("", "q", b"x", mandatory=True)
    until(reader, "1 ready and 1 published", lambda s: published(s, vhost_name) == (1, 1))


def published(snapshot: RabbitSnapshot, vhost: str) -> tuple[int | None, int | None] | None:
    queue = queue_of(snapshot, vhost, "q")
    return None if queue is None else (queue.ready, queue.counters.published)


def test_a_healthy_cluster_withholds_nothing(readers: Readers, channel: BlockingChannel, vhost_name: str) -> None:
    reader = readers(vhosts={"allow": [vhost_name]})
    channel.queue_declare("q", durable=True, arguments={"x-queue-type": "quorum"})
    snapshot = until(reader, "an empty queue", lambda s: s if depth(s, vhost_name, "q") == (0, 0) else None)
    assert all(success(snapshot).values()), snapshot.runs
    assert {} == {run.name: run.skipped for run in snapshot.runs if run.skipped}
    assert {(vhost_name, "q", "quorum", "work"): 0.0} == measured(
        snapshot, "mq_rabbitmq_queue_oldest_message_age_seconds"
    )


def test_the_page_of_a_real_cluster_has_no_family_without_its_labels(
    readers: Readers, named: dict[QueueName, int], fresh_name: Callable[[str], str]
) -> None:
    from exporter.metrics import registry

    families, faults = registry.measure(readers().poll())
    assert not faults
    wrong = [
        (family.name, labels)
        for family, samples in families.items()
        for labels, value in samples.items()
        if len(labels) != len(family.labels)
        or value != value
        or (value < 0 and family.name != "mq_clock_offset_seconds")
    ]
    assert [] == wrong
