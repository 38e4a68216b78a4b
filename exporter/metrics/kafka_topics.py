"""Kafka topics and what their configuration says."""

from __future__ import annotations

from exporter.metrics.family import Family, Measured
from exporter.model.kafka import KafkaSnapshot, Topic

SYSTEMS = {"kafka"}
PARTITIONS = Family("mq_kafka_topic_partitions", "gauge", "Partitions of the topic.", ("topic",))
INFO = Family(
    "mq_kafka_topic_info",
    "info",
    "Identity and settings of the topic. A new topic_id under the same name is a topic that was deleted and made anew. "
    "timestamp_type CreateTime: ages depend on the clocks of producers. A setting that is unknown is empty.",
    ("topic", "topic_id", "cleanup_policy", "timestamp_type"),
)
FAMILIES = (PARTITIONS, INFO)


def measure(snapshot: KafkaSnapshot) -> Measured:
    """Two samples for each topic."""
    return {
        PARTITIONS: {(topic.name,): len(topic.partitions) for topic in snapshot.topics},
        INFO: {_info(topic): 1 for topic in snapshot.topics},
    }


def _info(topic: Topic) -> tuple[str, str, str, str]:
    settings = topic.settings
    policy = settings.cleanup_policy if settings else None
    timestamps = settings.timestamp_type if settings else None
    return topic.name, topic.topic_id, policy or "", timestamps or ""
