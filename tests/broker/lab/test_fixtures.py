"""The fixtures that all broker tests stand on."""

from __future__ import annotations

import pika
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType

from drills.lab import Lab
from tests.broker.kafka.topic_views import create_and_await


def test_a_new_topic_has_three_replicas_and_needs_two(lab: Lab, kafka_admin: AdminClient, topic_name: str) -> None:
    create_and_await(kafka_admin, lab.kafka.client, NewTopic(topic_name, 2), 2)
    found = kafka_admin.list_topics(topic_name, 10).topics[topic_name]
    assert [3, 3] == [len(partition.replicas) for partition in found.partitions.values()]
    resource = ConfigResource(ResourceType.TOPIC, topic_name)
    assert "2" == kafka_admin.describe_configs([resource])[resource].result(10)["min.insync.replicas"].value


def test_a_produced_record_is_acknowledged(
    lab: Lab, producer: Producer, kafka_admin: AdminClient, topic_name: str
) -> None:
    create_and_await(kafka_admin, lab.kafka.client, NewTopic(topic_name, 1), 1)
    seen: list[object] = []
    producer.produce(topic_name, b"x", on_delivery=lambda error, message: seen.append((error, message.offset())))
    assert 0 == producer.flush(30)
    assert [(None, 0)] == seen


def test_a_message_goes_through_a_queue_of_the_tests_own_vhost(rabbit_connection: pika.BlockingConnection) -> None:
    channel = rabbit_connection.channel()
    channel.queue_declare("q", durable=True, arguments={"x-queue-type": "quorum"})
    channel.confirm_delivery()
    channel.basic_publish("", "q", b"x", mandatory=True)
    assert b"x" == channel.basic_get("q", auto_ack=True)[2]
