"""Connections of RabbitMQ by state: blocked publishers show here."""

from __future__ import annotations

from exporter.metrics.family import Family, Measured
from exporter.model.rabbitmq import RabbitSnapshot

SYSTEMS = {"rabbitmq"}
CONNECTIONS = Family(
    "mq_rabbitmq_connections",
    "gauge",
    "Connections by state. While an alarm is raised anywhere in the cluster, `blocking` is a connection that will be "
    "blocked as soon as it publishes, `blocked` one that has tried to; `flow` is slowed down. Up to 5 s old.",
    ("node", "state"),
)
FAMILIES = (CONNECTIONS,)


def measure(snapshot: RabbitSnapshot) -> Measured:
    """Running, blocking, blocked and flow for each node that is up, others when they occur."""
    return {CONNECTIONS: {(*labels,): count for labels, count in snapshot.connections.items()}}
