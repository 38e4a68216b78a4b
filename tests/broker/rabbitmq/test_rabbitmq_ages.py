"""Ages on a real cluster, by each method, and that looking changes nothing."""

from __future__ import annotations

import time
from typing import Any

import pika
import pytest
from pika.adapters.blocking_connection import BlockingChannel

from drills.lab import Lab
from drills.lab.keys import ADMIN
from exporter.clients.rabbitmq.reader import RabbitReader
from exporter.model.rabbitmq import Age, RabbitSnapshot
from tests.broker.rabbitmq.conftest import Readers, cli_of, depth, measured, queue_of, success, until
from tests.mutations import fails_under


def age_of(snapshot: RabbitSnapshot, vhost: str, name: str = "q") -> Age | None:
    queue = queue_of(snapshot, vhost, name)
    return None if queue is None else queue.age


def known(reader: RabbitReader, vhost: str, method: str) -> tuple[Age, float]:
    """The age by this method, and when it was read."""

    def seen(snapshot: RabbitSnapshot) -> tuple[Age, float] | None:
        age = age_of(snapshot, vhost)
        return (age, snapshot.taken_at) if age is not None and age.method == method else None

    return until(reader, f"an age by {method}", seen)


def test_a_real_head_timestamp_is_the_age_of_a_classic_queue(
    readers: Readers, channel: BlockingChannel, vhost_name: str
) -> None:
    reader = readers(vhosts={"allow": [vhost_name]})
    channel.queue_declare("q", durable=True)
    published = int(time.time()) - 1000
    for stamp in (published, published + 500):
        channel.basic_publish("", "q", b"x", pika.BasicProperties(timestamp=stamp), mandatory=True)
    age, at = known(reader, vhost_name, "head_timestamp")
    assert Age(at - published, "head_timestamp") == age


@pytest.mark.parametrize("stamp", [0, 4_102_444_800, 1_796_000_000_000])  # unset, the year 2100, milliseconds
def test_a_head_timestamp_that_cannot_be_is_ignored(
    readers: Readers, channel: BlockingChannel, vhost_name: str, stamp: int
) -> None:
    reader = readers(vhosts={"allow": [vhost_name]})
    channel.queue_declare("q", durable=True)
    until(reader, "an empty queue", lambda seen: age_of(seen, vhost_name) == Age(0.0, "empty"))
    channel.basic_publish("", "q", b"x", pika.BasicProperties(timestamp=stamp), mandatory=True)
    age, _ = known(reader, vhost_name, "history")
    assert age.seconds < 120


def check_an_unacknowledged_message_has_its_age_by_the_brokers_word(
    readers: Readers, lab: Lab, vhost: str, published: float
) -> None:
    reader = readers(vhosts={"allow": [vhost]}, **cli_of(lab))
    age, at = known(reader, vhost, "broker")
    assert abs(at - age.seconds - published) < 5


def test_an_unacknowledged_message_has_its_age_by_the_brokers_word(
    readers: Readers, lab: Lab, channel: BlockingChannel, vhost_name: str
) -> None:
    """The CLI sees what a consumer holds; `rabbitmq-queues peek` would only see the younger one."""
    channel.queue_declare("q", durable=True, arguments={"x-queue-type": "quorum", "x-delivery-limit": 3})
    channel.basic_publish("", "q", b"oldest", mandatory=True)
    published = time.time()
    method, _, _ = channel.basic_get("q")
    channel.connection.sleep(6)
    channel.basic_publish("", "q", b"younger", mandatory=True)
    check_an_unacknowledged_message_has_its_age_by_the_brokers_word(readers, lab, vhost_name, published)
    channel.basic_ack(method.delivery_tag)


def test_looking_changes_nothing(readers: Readers, lab: Lab, channel: BlockingChannel, vhost_name: str) -> None:
    """After many polls with every source in use a message is as it was: not redelivered, no delivery counted."""
    check_looking_changes_nothing(readers, lab, channel, vhost_name, "untouched")
    peeping = lab.rabbitmq.watched(ADMIN)  # where there are rights, the monitor may not even peek
    fails_under("peek_by_get", check_looking_changes_nothing, readers, lab, channel, vhost_name, "touched", **peeping)


def check_looking_changes_nothing(
    readers: Readers, lab: Lab, channel: BlockingChannel, vhost_name: str, name: str, **login: Any
) -> None:
    reader = readers(vhosts={"allow": [vhost_name]}, slow_interval=0.1, **cli_of(lab), **login)
    channel.queue_declare(name, durable=True, arguments={"x-queue-type": "quorum", "x-delivery-limit": 3})
    channel.basic_publish("", name, b"x", pika.BasicProperties(delivery_mode=2), mandatory=True)
    until(reader, "1 ready", lambda seen: depth(seen, vhost_name, name) == (1, 0))
    for _ in range(5):
        assert all(success(reader.poll()).values())
    method, properties, _ = channel.basic_get(name, auto_ack=True)
    assert method is not None  # not even driven over the delivery limit
    assert (False, 0) == (method.redelivered, (properties.headers or {}).get("x-delivery-count", 0))


def test_a_late_cli_costs_its_deadline_and_nothing_else(
    readers: Readers, channel: BlockingChannel, vhost_name: str
) -> None:
    channel.queue_declare("q", durable=True, arguments={"x-queue-type": "quorum"})
    reader = readers(vhosts={"allow": [vhost_name]}, cli=("/bin/sh", "-c", "sleep 1000 & wait", "ignored"), timeout=4)
    snapshot = until(reader, "its failure", lambda seen: seen if "quorum_ages" in success(seen) else None)
    run = next(run for run in snapshot.runs if run.name == "quorum_ages")
    assert ["the CLI did not finish within 12 s; is a node frozen?"] == [problem.detail for problem in run.problems]
    assert {"quorum_ages"} == {name for name, good in success(snapshot).items() if not good}
    until(reader, "an empty queue", lambda seen: depth(seen, vhost_name, "q") == (0, 0))
    began = time.monotonic()
    reader.poll()
    assert time.monotonic() - began < 4 + 4


def test_an_estimate_has_the_true_age_within_its_bound(
    readers: Readers, channel: BlockingChannel, vhost_name: str
) -> None:
    """No timestamp, no CLI: from depth and departures, through publishing, consuming and standing still."""
    reader = readers(vhosts={"allow": [vhost_name]}, interval=5)
    channel.queue_declare("q", durable=True, arguments={"x-queue-type": "quorum"})
    until(reader, "an empty queue", lambda seen: age_of(seen, vhost_name) == Age(0.0, "empty"))
    published = []
    for _ in range(3):
        channel.basic_publish("", "q", b"x", mandatory=True)
        published.append(time.time())
        channel.connection.sleep(8)
        reader.poll()
    check_estimate(reader, vhost_name, published[0])
    for _ in range(2):
        channel.basic_get("q", auto_ack=True)
    until(reader, "1 ready", lambda seen: depth(seen, vhost_name, "q") == (1, 0))
    ages = []
    until(reader, "counters that know it", lambda seen: ages.append(age_of(seen, vhost_name)) or len(ages) > 20)
    check_estimate(reader, vhost_name, published[2])


def check_estimate(reader: RabbitReader, vhost: str, published: float) -> None:
    age, at = known(reader, vhost, "history")
    assert age.error_bound is not None
    assert abs(at - published - age.seconds) <= age.error_bound
    bounds = measured(reader.poll(), "mq_rabbitmq_queue_age_error_bound_seconds")
    assert [(vhost, "q", "quorum", "work")] == list(bounds)


def test_history_survives_a_restart(readers: Readers, channel: BlockingChannel, vhost_name: str) -> None:
    reader = readers(vhosts={"allow": [vhost_name]})
    channel.queue_declare("q", durable=True)
    until(reader, "an empty queue", lambda seen: age_of(seen, vhost_name) == Age(0.0, "empty"))
    channel.basic_publish("", "q", b"x", mandatory=True)
    known(reader, vhost_name, "history")
    forgetful, again = readers(vhosts={"allow": [vhost_name]}), readers(vhosts={"allow": [vhost_name]})
    again.restore(reader.state())
    until(forgetful, "1 ready", lambda seen: depth(seen, vhost_name, "q") == (1, 0))
    assert None is age_of(forgetful.poll(), vhost_name)
    age = age_of(again.poll(), vhost_name)
    assert age is not None
    assert "history" == age.method
