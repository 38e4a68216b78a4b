"""Transactions that hold back read-committed consumers."""

from __future__ import annotations

from exporter.metrics.family import Family, Measured
from exporter.model.kafka import KafkaSnapshot

SYSTEMS = {"kafka"}
OPEN = Family(
    "mq_kafka_partition_open_transaction_seconds",
    "gauge",
    "Age of the oldest open transaction on the partition, from the first record it wrote there. Only while the last "
    "stable offset is behind the high watermark; longer than transaction.max.timeout.ms means that it hangs.",
    ("topic", "partition"),
)
FAMILIES = (OPEN,)


def measure(snapshot: KafkaSnapshot) -> Measured:
    """One sample for each partition with a transaction in flight whose beginning is known."""
    return {
        OPEN: {
            (topic.name, str(partition)): seconds
            for topic in snapshot.topics
            for partition, seconds in topic.open_transactions.items()
        }
    }
