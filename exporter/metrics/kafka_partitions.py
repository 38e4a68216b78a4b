"""Where the log of each Kafka partition starts and ends."""

from __future__ import annotations

from collections.abc import Sequence

from exporter.metrics.family import Family, Measured, Samples
from exporter.model.kafka import KafkaSnapshot, PartitionLabels

SYSTEMS = {"kafka"}
LABELS = ("topic", "partition")
LOG_START = Family(
    "mq_kafka_partition_log_start_offset",
    "gauge",
    "First offset that can still be read; rises as retention deletes. Absent while the partition can't be asked.",
    LABELS,
)
HIGH_WATERMARK = Family(
    "mq_kafka_partition_high_watermark_offset",
    "gauge",
    "Offset after the last one that all in-sync replicas have: what a read-uncommitted consumer can reach.",
    LABELS,
)
LAST_STABLE = Family(
    "mq_kafka_partition_last_stable_offset",
    "gauge",
    "What a read-committed consumer can reach. Behind the high watermark while a transaction is open or hung.",
    LABELS,
)
FAMILIES = (LOG_START, HIGH_WATERMARK, LAST_STABLE)


def measure(snapshot: KafkaSnapshot) -> Measured:
    """Three samples for each partition that could be asked."""
    measured: Measured = {LOG_START: {}, HIGH_WATERMARK: {}, LAST_STABLE: {}}
    for topic in snapshot.topics:
        _add(measured[LOG_START], topic.labels, topic.log_starts)
        _add(measured[HIGH_WATERMARK], topic.labels, topic.high_watermarks)
        _add(measured[LAST_STABLE], topic.labels, topic.last_stables)
    return measured


def _add(samples: Samples, labels: Sequence[PartitionLabels], values: Sequence[int | None]) -> None:
    samples.update({label: value for label, value in zip(labels, values, strict=True) if value is not None})
