"""Streams of a real cluster: what they retain, and how far named consumers are behind."""

from __future__ import annotations

from pika.adapters.blocking_connection import BlockingChannel

from drills.lab import Lab
from exporter.model.rabbitmq import RabbitSnapshot
from tests.broker.rabbitmq.conftest import Readers, cli_of, measured, success, until
from tests.broker.stream_protocol import StreamClient

STREAM = 'my "stream"'


def fill(channel: BlockingChannel, messages: int) -> None:
    channel.queue_declare(STREAM, durable=True, arguments={"x-queue-type": "stream"})
    for _ in range(messages):
        channel.basic_publish("", STREAM, b"x", mandatory=True)


def lags(snapshot: RabbitSnapshot) -> dict[tuple[str, ...], float]:
    return measured(snapshot, "mq_rabbitmq_stream_consumer_lag_offsets")


def test_a_stream_has_what_it_retains_and_neither_ready_nor_age(
    readers: Readers, channel: BlockingChannel, vhost_name: str
) -> None:
    reader = readers(vhosts={"allow": [vhost_name]})
    fill(channel, 10)
    wanted = [{(vhost_name, STREAM): 10.0}, {(vhost_name, STREAM): 3.0}]
    families = ("mq_rabbitmq_stream_retained_messages", "mq_rabbitmq_queue_replicas")
    snapshot = until(
        reader,
        "10 retained by 3 replicas",
        lambda seen: seen if [measured(seen, family) for family in families] == wanted else None,
    )
    for family in ("messages_ready", "messages_unacknowledged", "oldest_message_age_seconds"):
        assert {} == measured(snapshot, f"mq_rabbitmq_queue_{family}")


def test_a_stored_offset_gives_the_lag_of_its_name(
    readers: Readers, lab: Lab, channel: BlockingChannel, vhost_name: str
) -> None:
    """Who stored 6 is 3 behind who stored 9, which is the last; that they stored takes an offset each."""
    reader = readers(vhosts={"allow": [vhost_name]}, slow_interval=0.1, **cli_of(lab))
    fill(channel, 10)
    with StreamClient(lab.rabbitmq, vhost_name) as client:
        client.store(STREAM, "billing ü", 6)
        client.store(STREAM, "audit", 9)
        wanted = {(vhost_name, STREAM, "billing ü"): 5.0, (vhost_name, STREAM, "audit"): 2.0}
        until(reader, f"{wanted}", lambda seen: lags(seen) == wanted)
    until(reader, "the same without a connection", lambda seen: lags(seen) == wanted)


def test_a_connected_consumer_with_a_name_has_a_lag_without_the_cli(
    readers: Readers, lab: Lab, channel: BlockingChannel, vhost_name: str
) -> None:
    reader = readers(vhosts={"allow": [vhost_name]}, slow_interval=0.1)
    fill(channel, 10)
    with StreamClient(lab.rabbitmq, vhost_name) as client:
        client.subscribe(STREAM, "billing", offset=0, credit=1)
        until(reader, "a lag", lambda seen: list(lags(seen)) == [(vhost_name, STREAM, "billing")])
    until(reader, "no consumer", lambda seen: lags(seen) == {})
    assert success(reader.poll())["streams"]
