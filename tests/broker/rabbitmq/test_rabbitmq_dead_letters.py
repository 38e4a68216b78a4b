"""Dead letters on a real cluster: each set-up with a real rejected message, found where discovery says it goes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import pika
import pytest
from pika.adapters.blocking_connection import BlockingChannel

from drills.lab import Lab
from exporter.clients.rabbitmq.reader import RabbitReader
from exporter.config.model import RabbitMQ
from exporter.model.common import DeadLetterQueue
from exporter.model.rabbitmq import RabbitSnapshot
from tests.broker.conftest import Management
from tests.broker.labs import amqp
from tests.broker.rabbitmq.conftest import PATIENCE, Readers, measured, path_of, queue_of, until
from tests.mutations import fails_under
from tests.rabbitmq_set_ups import SET_UPS, SetUp


def vhost_of(set_up: SetUp) -> str:
    return f"dead letters: {set_up.name}"


def arrange(management: Management, set_up: SetUp) -> None:
    """Make a vhost with all that the set-up has."""
    vhost = path_of(vhost_of(set_up))
    management.make_vhost(vhost_of(set_up))
    for name, policy in set_up.policies_given.items():
        body = {"pattern": policy.pattern, "definition": policy.definition, "apply-to": policy.applies_to}
        management.put(f"policies/{vhost}/{name}", {**body, "priority": policy.priority})
    for exchange, kind, arguments in set_up.exchanges:
        management.put(f"exchanges/{vhost}/{exchange}", {"type": kind, "durable": True, "arguments": arguments})
    for queue in set_up.queues:
        management.put(f"queues/{vhost}/{queue['name']}", {"durable": True, "arguments": queue["arguments"]})
    for binding in set_up.bindings:
        kind = {"queue": "q", "exchange": "e"}[binding["destination_type"]]
        path = f"bindings/{vhost}/e/{binding['source']}/{kind}/{binding['destination']}"
        management.post(path, {"routing_key": binding["routing_key"], "arguments": binding["arguments"]})


def reject_one(lab: Lab, set_up: SetUp) -> None:
    """Publish the set-up's message and reject it in `src`."""
    parameters = amqp(lab, 1, vhost_of(set_up))
    connection = pika.BlockingConnection(parameters)
    channel = connection.channel()
    channel.confirm_delivery()
    properties = pika.BasicProperties(headers=dict(set_up.message.headers), delivery_mode=2)
    channel.basic_publish(set_up.message.exchange, set_up.message.key, b"x", properties, mandatory=True)
    method, _, _ = channel.basic_get("src")
    assert method is not None
    channel.basic_reject(method.delivery_tag, requeue=False)
    connection.close()


@dataclass(frozen=True)
class Ran:
    """All set-ups, as the reader saw them when every message had come to rest."""

    reader: RabbitReader
    snapshot: RabbitSnapshot


@pytest.fixture(scope="module")
def ran(lab: Lab, management: Management) -> Iterator[Ran]:
    reader = RabbitReader(
        RabbitMQ(cluster="lab", **lab.rabbitmq.watched(), timeout=30, vhosts={"allow": ("dead letters: .*",)})
    )
    for set_up in SET_UPS:
        arrange(management, set_up)
    for set_up in SET_UPS:
        reject_one(lab, set_up)
    wanted = {vhost_of(set_up): set_up.found_in for set_up in SET_UPS}
    snapshot = until(reader, f"{wanted}", lambda seen: seen if holding(seen) == wanted else None, 2 * PATIENCE)
    yield Ran(reader, snapshot)
    reader.close()
    for set_up in SET_UPS:
        management.delete(f"vhosts/{path_of(vhost_of(set_up))}")


def holding(snapshot: RabbitSnapshot) -> dict[str, set[str]]:
    """Vhost -> queues that hold a message, held dead letters included."""
    found: dict[str, set[str]] = {vhost_of(set_up): set() for set_up in SET_UPS}
    for queue in snapshot.queues:
        held = queue.replicas.held_dead_letters if queue.replicas is not None else 0
        if queue.ready or held:
            found[queue.id.vhost].add(queue.id.name)
    return found


def sources(snapshot: RabbitSnapshot, vhost: str) -> set[tuple[str, str]]:
    return {(one.dlq, one.via) for one in snapshot.dead_letter_sources if (one.vhost, one.source) == (vhost, "src")}


@pytest.mark.parametrize("set_up", SET_UPS, ids=lambda one: one.name)
def test_a_rejected_message_is_where_discovery_says(ran: Ran, set_up: SetUp) -> None:
    """That the message is there was waited for by the fixture."""
    check_discovery_agrees(ran.snapshot, set_up)


def check_discovery_agrees(snapshot: RabbitSnapshot, set_up: SetUp) -> None:
    assert set_up.expected == sources(snapshot, vhost_of(set_up))
    dead = {queue.name for queue in snapshot.dead_letter_queues if queue.vhost == vhost_of(set_up)}
    assert {name for name, _ in set_up.expected if name not in {"", "src"}} == dead
    assert {name for name in set_up.found_in if name != "src"} == {
        queue.name for queue in snapshot.dead_letter_queues if queue.vhost == vhost_of(set_up) and queue.unhandled
    }


def test_policies_count_and_not_only_arguments(ran: Ran) -> None:
    set_up = next(one for one in SET_UPS if one.name == "policy topic, quorum")
    check_discovery_agrees(ran.reader.poll(), set_up)
    fails_under("follow_only_arguments", lambda: check_discovery_agrees(ran.reader.poll(), set_up))


def test_at_least_once_letters_without_a_way_are_held_at_the_source(ran: Ran) -> None:
    held = measured(ran.snapshot, "mq_rabbitmq_queue_held_dead_letter_messages")
    waiting = {vhost_of(one) for one in SET_UPS if ("", "held") in one.expected}
    assert waiting == {vhost for (vhost, _), count in held.items() if count == 1}


def test_the_broker_counts_what_it_threw_away(ran: Ran) -> None:
    counts = measured(ran.snapshot, "mq_rabbitmq_dead_lettered_total")
    rejected = {
        strategy: sum(value for (_, reason, how), value in counts.items() if (reason, how) == ("rejected", strategy))
        for strategy in ("disabled", "at_most_once", "at_least_once")
    }
    assert rejected["disabled"] >= sum(one.name.startswith("missing exchange") for one in SET_UPS) - 1
    assert rejected["at_least_once"] >= 3
    assert rejected["at_most_once"] >= 15


def test_a_queue_that_only_looks_like_one_is_no_dead_letter_queue(
    readers: Readers, channel: BlockingChannel, vhost_name: str
) -> None:
    reader = readers(vhosts={"allow": [vhost_name]})
    channel.queue_declare("orders.dlq", durable=True)
    channel.basic_publish("", "orders.dlq", b"x", mandatory=True)
    snapshot = until(reader, "1 ready", lambda s: s if ready(s, vhost_name, "orders.dlq") == 1 else None)
    assert () == snapshot.dead_letter_queues
    queue = queue_of(snapshot, vhost_name, "orders.dlq")
    assert queue is not None
    assert "work" == queue.role


def ready(snapshot: RabbitSnapshot, vhost: str, name: str) -> int | None:
    queue = queue_of(snapshot, vhost, name)
    return None if queue is None else queue.ready


def declare_retry(channel: BlockingChannel) -> None:
    """work -> wait -> work by TTL, and parking for those given up."""
    dead = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "wait"}
    back = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "work", "x-message-ttl": 600_000}
    channel.queue_declare("work", durable=True, arguments=dead)
    channel.queue_declare("wait", durable=True, arguments=back)


def test_a_retry_queue_is_no_dead_letter_queue(readers: Readers, channel: BlockingChannel, vhost_name: str) -> None:
    reader = readers(vhosts={"allow": [vhost_name]})
    declare_retry(channel)
    channel.basic_publish("", "work", b"x", mandatory=True)
    channel.basic_reject(channel.basic_get("work")[0].delivery_tag, requeue=False)
    snapshot = until(reader, "1 in wait", lambda seen: seen if ready(seen, vhost_name, "wait") == 1 else None)
    assert {"work": "work", "wait": "retry"} == {queue.id.name: queue.role for queue in snapshot.queues}
    assert () == snapshot.dead_letter_queues
    assert () == snapshot.dead_letter_sources


def test_a_dead_letter_queue_tells_depth_arrivals_and_time_to_deletion(
    readers: Readers, channel: BlockingChannel, vhost_name: str
) -> None:
    """A quorum queue without counters of arrivals, drained in between: arrivals go on."""
    reader = readers(vhosts={"allow": [vhost_name]}, interval=5)
    channel.queue_declare("work", durable=True, arguments=arguments("", "dead"))
    channel.queue_declare("dead", durable=True, arguments={"x-queue-type": "quorum", "x-message-ttl": 3_600_000})
    until(reader, "an empty queue", lambda seen: ready(seen, vhost_name, "dead") == 0)
    reject(channel, 3)
    began = time.time()
    first = until(reader, "3 dead letters with an age", lambda seen: dlq(seen, depth=3, aged=True))
    assert (3, 3, 3) == (first.depth, first.unhandled, first.arrivals)
    assert first.oldest_age_seconds is not None
    assert first.time_to_deletion_seconds is not None
    assert 3600 == pytest.approx(first.oldest_age_seconds + first.time_to_deletion_seconds)
    bound = next(iter(measured(reader.poll(), "mq_rabbitmq_queue_age_error_bound_seconds").values()))
    assert abs((time.time() - began) - first.oldest_age_seconds) <= bound + 10
    while channel.basic_get("dead", auto_ack=True)[0] is not None:
        pass
    until(reader, "an empty queue", lambda seen: dlq(seen, depth=0))
    reject(channel, 2)
    until(reader, "2 dead letters", lambda seen: dlq(seen, depth=2))
    until(reader, "5 arrivals or more", lambda seen: arrived(seen) >= 5)
    assert 5 == arrived(reader.poll())


def arrived(snapshot: RabbitSnapshot) -> int:
    return snapshot.dead_letter_queues[0].arrivals or 0


def arguments(exchange: str, key: str) -> dict[str, Any]:
    return {"x-dead-letter-exchange": exchange, "x-dead-letter-routing-key": key}


def reject(channel: BlockingChannel, count: int) -> None:
    for _ in range(count):
        channel.basic_publish("", "work", b"x", mandatory=True)
        channel.basic_reject(channel.basic_get("work")[0].delivery_tag, requeue=False)


def dlq(snapshot: RabbitSnapshot, depth: int, aged: bool = False) -> DeadLetterQueue | None:
    found = next(iter(snapshot.dead_letter_queues), None)
    if found is None or found.depth != depth or (aged and not found.oldest_age_seconds):
        return None
    return found


def test_a_new_binding_is_followed_at_the_next_reading_of_the_topology(
    readers: Readers, channel: BlockingChannel, vhost_name: str, management: Management
) -> None:
    reader = readers(vhosts={"allow": [vhost_name]}, slow_interval=1)
    channel.exchange_declare("dlx", "direct", durable=True)
    channel.queue_declare("work", durable=True, arguments=arguments("dlx", "k"))
    channel.queue_declare("dead", durable=True)
    until(reader, "dropped", lambda seen: [one.via for one in seen.dead_letter_sources] == ["dropped"])
    management.post(f"bindings/{quote(vhost_name, safe='')}/e/dlx/q/dead", {"routing_key": "k"})
    until(
        reader, "found", lambda seen: [(one.dlq, one.via) for one in seen.dead_letter_sources] == [("dead", "argument")]
    )
