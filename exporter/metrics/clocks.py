"""How far the clocks of the nodes are from the exporter's: ages depend on them."""

from __future__ import annotations

from exporter.metrics.family import Family, Measured
from exporter.model.common import ClusterSnapshot

SYSTEMS = {"kafka", "rabbitmq"}
OFFSET = Family(
    "mq_clock_offset_seconds",
    "gauge",
    "The node's clock minus the exporter's. RabbitMQ: from the HTTP Date header, so within 1 s. "
    "Kafka: the leader of the controller quorum only, from its own timestamps; other brokers can't be asked.",
    ("node",),
)
FAMILIES = (OFFSET,)


def measure(snapshot: ClusterSnapshot) -> Measured:
    """One sample for each node that said what time it is."""
    return {OFFSET: {(node,): offset for node, offset in snapshot.clock_offsets.items()}}
