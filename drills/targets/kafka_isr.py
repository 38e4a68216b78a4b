"""Kafka's in-sync replicas, and the partitions that would have too few of them without one broker."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from drills.targets.kafka_admin import admin, settings
from drills.targets.target import KafkaAddresses, TargetError

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
    with admin(addresses) as client:
        topics = client.describe_topics()
        least = settings(client, [topic["name"] for topic in topics])
    try:
        return [
            Partition(
                topic["name"],
                one["partition_index"],
                frozenset(one["isr_nodes"]),
                int(least[topic["name"]][LEAST] or ""),
            )
            for topic in topics
            for one in topic["partitions"]
        ]
    except (KeyError, ValueError) as error:
        raise TargetError(f"Kafka at {addresses.bootstrap} did not tell {LEAST} of every topic: {error!r}") from error
