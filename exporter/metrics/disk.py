"""Disk space and disk alarms under one name for every system."""

from __future__ import annotations

from exporter.metrics.family import Family, Measured, known
from exporter.model.common import ClusterSnapshot

SYSTEMS = {"kafka", "rabbitmq"}
LABELS = ("system", "node", "dir")
FREE = Family(
    "mq_disk_free_bytes",
    "gauge",
    "Free bytes on the disk that holds this directory, as the broker itself reports them. Absent when unknown.",
    LABELS,
)
LIMIT = Family(
    "mq_disk_free_limit_bytes",
    "gauge",
    "Free bytes below which the disk alarm is raised: RabbitMQ's own limit in force; for Kafka the configured limit.",
    LABELS,
)
ALARM = Family(
    "mq_disk_alarm",
    "gauge",
    "1 while the disk alarm is raised. RabbitMQ: the node's own alarm, which blocks publishers on every node. "
    "Kafka: free space below the configured limit, or the directory offline. Absent when unknown.",
    LABELS,
)
FAMILIES = (FREE, LIMIT, ALARM)


def measure(snapshot: ClusterSnapshot) -> Measured:
    """One row for each directory of each node."""
    rows = {(snapshot.system, disk.node, disk.dir): disk for disk in snapshot.disks}
    return {
        FREE: known({labels: disk.free_bytes for labels, disk in rows.items()}),
        LIMIT: known({labels: disk.free_limit_bytes for labels, disk in rows.items()}),
        ALARM: known({labels: None if disk.alarm is None else int(disk.alarm) for labels, disk in rows.items()}),
    }
