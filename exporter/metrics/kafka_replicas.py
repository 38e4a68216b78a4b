"""How well each Kafka partition is replicated, from metadata and the topic's configuration; no JMX."""

from __future__ import annotations

from exporter.metrics.family import Family, Measured
from exporter.model.kafka import KafkaSnapshot, Topic

SYSTEMS = {"kafka"}
LABELS = ("topic", "partition")
REPLICAS = Family("mq_kafka_partition_replicas", "gauge", "Replicas that the partition should have.", LABELS)
IN_SYNC = Family(
    "mq_kafka_partition_in_sync_replicas",
    "gauge",
    "Replicas that are in sync with the leader, the leader included, as the controllers know them.",
    LABELS,
)
MIN_IN_SYNC = Family(
    "mq_kafka_partition_min_in_sync_replicas",
    "gauge",
    "min.insync.replicas in force for the topic: below it, producers with acks=all are refused. Absent when unknown.",
    LABELS,
)
OFFLINE = Family(
    "mq_kafka_partition_offline",
    "gauge",
    "1 while the partition has no leader: it can be neither written nor read.",
    LABELS,
)
UNDER_MIN = Family(
    "mq_kafka_partition_under_min_isr",
    "gauge",
    "1 while fewer replicas are in sync than min.insync.replicas: writes with acks=all fail. Absent when unknown.",
    LABELS,
)
FAMILIES = (REPLICAS, IN_SYNC, MIN_IN_SYNC, OFFLINE, UNDER_MIN)
NO_LEADER = -1


def measure(snapshot: KafkaSnapshot) -> Measured:
    """Three samples for each partition, five where the configuration of the topic is known."""
    measured: Measured = {family: {} for family in FAMILIES}
    for topic in snapshot.topics:
        measured[REPLICAS].update(zip(topic.labels, topic.replicas, strict=True))
        measured[IN_SYNC].update(zip(topic.labels, topic.in_sync, strict=True))
        offline = [1 if leader == NO_LEADER else 0 for leader in topic.leaders]
        measured[OFFLINE].update(zip(topic.labels, offline, strict=True))
        _add_minimum(measured, topic)
    return measured


def _add_minimum(measured: Measured, topic: Topic) -> None:
    minimum = topic.settings.min_in_sync if topic.settings else None
    if minimum is not None:
        measured[MIN_IN_SYNC].update(dict.fromkeys(topic.labels, minimum))
        under = [1 if count < minimum else 0 for count in topic.in_sync]
        measured[UNDER_MIN].update(zip(topic.labels, under, strict=True))
