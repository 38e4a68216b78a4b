"""Nodes of RabbitMQ: membership, memory, file descriptors, partitions."""

from __future__ import annotations

from exporter.metrics.family import Family, Measured, known
from exporter.model.rabbitmq import Node, RabbitSnapshot

SYSTEMS = {"rabbitmq"}
LABELS = ("node",)
UP = Family(
    "mq_rabbitmq_node_up",
    "gauge",
    "1 while the cluster counts the node as running; 0, not missing, for a member that is down. While the management "
    "API does not answer: 1 when the node's own endpoint does, 0 when it used to and another node's still does.",
    LABELS,
)
MEMORY_USED = Family(
    "mq_rabbitmq_node_memory_used_bytes", "gauge", "Memory that the node uses, by its own count.", LABELS
)
MEMORY_LIMIT = Family(
    "mq_rabbitmq_node_memory_limit_bytes", "gauge", "Memory above which the memory alarm is raised.", LABELS
)
MEMORY_ALARM = Family(
    "mq_rabbitmq_node_memory_alarm",
    "gauge",
    "1 while the node's memory alarm is raised, which blocks publishers on every node. Absent when unknown.",
    LABELS,
)
FDS_USED = Family("mq_rabbitmq_node_file_descriptors_used", "gauge", "File descriptors that the node uses.", LABELS)
FDS_LIMIT = Family("mq_rabbitmq_node_file_descriptors_limit", "gauge", "File descriptors that it may use.", LABELS)
PARTITIONED = Family(
    "mq_rabbitmq_node_partitioned",
    "gauge",
    "1 while the node says that it was cut off from another; it stays so until one of the two is restarted. "
    "Absent from 4.3 on, which does not tell.",
    LABELS,
)
FAMILIES = (UP, MEMORY_USED, MEMORY_LIMIT, MEMORY_ALARM, FDS_USED, FDS_LIMIT, PARTITIONED)


def measure(snapshot: RabbitSnapshot) -> Measured:
    """One row for each member; of one that is down nothing but that."""
    rows: dict[tuple[str, ...], Node] = {(node.name,): node for node in snapshot.nodes}
    return {
        UP: known({labels: flag(node.up) for labels, node in rows.items()}),
        MEMORY_USED: known({labels: node.memory_used_bytes for labels, node in rows.items()}),
        MEMORY_LIMIT: known({labels: node.memory_limit_bytes for labels, node in rows.items()}),
        MEMORY_ALARM: known({labels: flag(node.memory_alarm) for labels, node in rows.items()}),
        FDS_USED: known({labels: node.file_descriptors_used for labels, node in rows.items()}),
        FDS_LIMIT: known({labels: node.file_descriptors_limit for labels, node in rows.items()}),
        PARTITIONED: known({labels: flag(node.partitioned) for labels, node in rows.items()}),
    }


def flag(value: bool | None) -> int | None:
    """1 or 0; unknown stays unknown."""
    return None if value is None else int(value)
