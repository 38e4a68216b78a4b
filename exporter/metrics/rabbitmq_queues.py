"""Queues of RabbitMQ: depth, consumers, what went through."""

from __future__ import annotations

from exporter.metrics.family import Family, Measured, known
from exporter.model.rabbitmq import RabbitSnapshot

SYSTEMS = {"rabbitmq"}
LABELS = ("vhost", "queue", "type", "role")
STATISTICS = "statistics of the management API (not `disable_stats`)"
READY = Family(
    "mq_rabbitmq_queue_messages_ready",
    "gauge",
    "Messages ready to be delivered, by the leader's own count where its node answers. Absent when unknown (a queue "
    "just declared or failed over has no count for some seconds), never 0 for it. Streams have none.",
    LABELS,
)
UNACKNOWLEDGED = Family(
    "mq_rabbitmq_queue_messages_unacknowledged",
    "gauge",
    "Messages delivered and not yet acknowledged. Streams have none.",
    LABELS,
)
CONSUMERS = Family("mq_rabbitmq_queue_consumers", "gauge", "Consumers of the queue.", LABELS)
CAPACITY = Family(
    "mq_rabbitmq_queue_consumer_capacity_ratio",
    "gauge",
    "Share of the time in which the queue could deliver at once to its consumers, 0 to 1. Low with messages ready: the "
    "consumers are too slow or their prefetch is too small; it is 0 without consumers.",
    LABELS,
    STATISTICS,
)
MEMORY = Family(
    "mq_rabbitmq_queue_memory_bytes", "gauge", "Memory of the queue's process on its leader.", LABELS, STATISTICS
)
PUBLISHED = Family(
    "mq_rabbitmq_queue_published_total",
    "counter",
    "Messages published to the queue. Dead letters that arrive are not among them: see mq_dlq_arrivals_total. "
    "When the broker's own counter falls (a node's statistics are gone) this one goes on from where it was.",
    LABELS,
    STATISTICS,
)
DELIVERED = Family(
    "mq_rabbitmq_queue_delivered_total",
    "counter",
    "Deliveries to consumers and to gets, redeliveries included.",
    LABELS,
    STATISTICS,
)
ACKNOWLEDGED = Family(
    "mq_rabbitmq_queue_acknowledged_total",
    "counter",
    "Messages acknowledged. Those rejected, expired or delivered without acknowledgement are not among them.",
    LABELS,
    STATISTICS,
)
REDELIVERED = Family(
    "mq_rabbitmq_queue_redelivered_total", "counter", "Deliveries of messages delivered before.", LABELS, STATISTICS
)
FAMILIES = (READY, UNACKNOWLEDGED, CONSUMERS, CAPACITY, MEMORY, PUBLISHED, DELIVERED, ACKNOWLEDGED, REDELIVERED)


def measure(snapshot: RabbitSnapshot) -> Measured:
    """One row for each queue that is no stream; of streams the consumers and counters only."""
    rows = {(*queue.id, queue.type, queue.role): queue for queue in snapshot.queues}
    return {
        READY: known({labels: queue.ready for labels, queue in rows.items()}),
        UNACKNOWLEDGED: known({labels: queue.unacknowledged for labels, queue in rows.items()}),
        CONSUMERS: known({labels: queue.consumers for labels, queue in rows.items()}),
        CAPACITY: known({labels: queue.consumer_capacity for labels, queue in rows.items()}),
        MEMORY: known({labels: queue.memory_bytes for labels, queue in rows.items()}),
        PUBLISHED: known({labels: queue.counters.published for labels, queue in rows.items()}),
        DELIVERED: known({labels: queue.counters.delivered for labels, queue in rows.items()}),
        ACKNOWLEDGED: known({labels: queue.counters.acknowledged for labels, queue in rows.items()}),
        REDELIVERED: known({labels: queue.counters.redelivered for labels, queue in rows.items()}),
    }
