"""The broker's own counts of messages that took the wrong way, node by node."""

from __future__ import annotations

from exporter.metrics.family import Family, Measured
from exporter.model.rabbitmq import RabbitSnapshot

SYSTEMS = {"rabbitmq"}
PROMETHEUS = "the plugin rabbitmq_prometheus, on each node, within reach"
DEAD_LETTERED = Family(
    "mq_rabbitmq_dead_lettered_total",
    "counter",
    "Messages dead-lettered on this node since it started, by reason (rejected, expired, maxlen, delivery_limit). "
    'strategy="disabled": thrown away, there was no dead-letter exchange or it does not exist. One that exists and '
    "routes nowhere counts as at_most_once, like a success: see mq_dlq_source_info. Not told apart by queue.",
    ("node", "reason", "strategy"),
    PROMETHEUS,
)
UNROUTABLE = Family(
    "mq_rabbitmq_unroutable_total",
    "counter",
    "Messages published on this node that reached no queue: returned to the publisher (mandatory) or dropped, which a "
    "publisher with confirms sees confirmed.",
    ("node", "outcome"),
    PROMETHEUS,
)
FAMILIES = (DEAD_LETTERED, UNROUTABLE)


def measure(snapshot: RabbitSnapshot) -> Measured:
    """Each counter that a node showed."""
    return {
        DEAD_LETTERED: {(*labels,): count for labels, count in snapshot.dead_lettered.items()},
        UNROUTABLE: {(*labels,): count for labels, count in snapshot.unroutable.items()},
    }
