"""Kafka's in-sync replicas, and the partitions that would have too few of them without one broker."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource

from drills.targets.target import KafkaAddresses, TargetError

SECONDS = 15.0  # for one answer
LEAST = "min.insync.replicas"


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition: brokers that are in sync, and how many must be for a write with acks=all."""

    topic: str
    number: int
    in_sync: frozenset[int]
    least: int


def too_few_without(partitions: Iterable[Partition], broker: int) -> list[str]:
    """The partitions, as TOPIC/NUMBER, that would fall below their least number without this broker."""
    return [
        f"{one.topic}/{one.number}" for one in partitions if broker in one.in_sync and len(one.in_sync) <= one.least
    ]


def read(addresses: KafkaAddresses) -> list[Partition]:
    """Every partition of the cluster, internal topics included. Raises TargetError."""
    client = AdminClient(dict(addresses.client))
    try:
        topics = client.list_topics(timeout=SECONDS).topics
        asked = [ConfigResource(ConfigResource.Type.TOPIC, name) for name in topics]
        answers = client.describe_configs(asked, request_timeout=SECONDS) if asked else {}
        least = {resource.name: int(answer.result(SECONDS)[LEAST].value) for resource, answer in answers.items()}
    except (KafkaException, KeyError, ValueError, TimeoutError) as error:
        raise TargetError(f"Kafka at {addresses.bootstrap} can't be asked for in-sync replicas: {error}") from error
    return [
        Partition(name, number, frozenset(found.isrs), least[name])
        for name, topic in topics.items()
        for number, found in topic.partitions.items()
    ]
