"""Brokers and their log directories."""

from __future__ import annotations

from exporter.metrics.family import Family, Measured, known
from exporter.model.kafka import KafkaSnapshot

SYSTEMS = {"kafka"}
LABELS = ("broker", "dir")
UP = Family(
    "mq_kafka_broker_up",
    "gauge",
    "1 for a broker that is a member of the cluster, 0 for one that is registered but fenced. Before Kafka 4.0 a "
    "broker that is down is not listed: one seen before is 0. Whether it answers from here is mq_exporter_endpoint_up.",
    ("broker",),
)
USED = Family(
    "mq_kafka_log_dir_used_bytes",
    "gauge",
    "Bytes of all partitions in the log directory. Absent while it is offline.",
    LABELS,
)
TOTAL = Family(
    "mq_kafka_log_dir_total_bytes",
    "gauge",
    "Size of the volume that holds the log directory. Absent when unknown.",
    LABELS,
    requires="Kafka 3.3",
)
USABLE = Family(
    "mq_kafka_log_dir_usable_bytes",
    "gauge",
    "Bytes of that volume that the broker can still use. Absent when unknown.",
    LABELS,
    requires="Kafka 3.3",
)
OFFLINE = Family(
    "mq_kafka_log_dir_offline",
    "gauge",
    "1 while the broker has given up the log directory after an I/O error; its partitions are gone until a restart.",
    LABELS,
)
FAMILIES = (UP, USED, TOTAL, USABLE, OFFLINE)


def measure(snapshot: KafkaSnapshot) -> Measured:
    """One row for each broker, one for each directory."""
    rows = {(str(row.broker), row.path): row for row in snapshot.log_dirs}
    return {
        UP: {(str(broker),): int(up) for broker, up in snapshot.brokers.items()},
        USED: known({labels: row.used for labels, row in rows.items()}),
        TOTAL: known({labels: row.total for labels, row in rows.items()}),
        USABLE: known({labels: row.usable for labels, row in rows.items()}),
        OFFLINE: {labels: int(row.offline) for labels, row in rows.items()},
    }
