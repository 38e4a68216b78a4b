"""Dead letters under one name for every system."""

from __future__ import annotations

from exporter.metrics.family import Family, Measured, known
from exporter.model.common import ClusterSnapshot

SYSTEMS = {"kafka", "rabbitmq"}
LABELS = ("system", "vhost", "dlq")
DEPTH = Family(
    "mq_dlq_depth_messages",
    "gauge",
    "Messages in the dead-letter queue. RabbitMQ: ready and unacknowledged. Kafka: retained offsets, an upper bound.",
    LABELS,
)
UNHANDLED = Family(
    "mq_dlq_unhandled_messages",
    "gauge",
    "Dead letters that nobody has dealt with. RabbitMQ: the depth. Kafka: offsets not yet committed by the group that "
    "reads the topic (the slowest, when several do), all retained ones when no group does. Alert on this one.",
    LABELS,
)
AGE = Family(
    "mq_dlq_oldest_message_age_seconds",
    "gauge",
    "Age of the oldest unhandled dead letter; 0 when there is none, absent when unknown.",
    LABELS,
)
DELETION = Family(
    "mq_dlq_time_to_deletion_seconds",
    "gauge",
    "Time until the oldest unhandled dead letter is deleted by retention or TTL. Absent where nothing deletes it.",
    LABELS,
)
ARRIVALS = Family(
    "mq_dlq_arrivals_total",
    "counter",
    "Dead letters that arrived. Kafka: the end offset, so it also counts control records. RabbitMQ: counted from depth "
    "and departures since the exporter started, because its publish counters miss dead-lettered arrivals; arrivals "
    "that come and go between two polls are missed.",
    LABELS,
)
SOURCE = Family(
    "mq_dlq_source_info",
    "info",
    'Which queue, topic or group feeds the dead-letter queue, and how that is known. via="dropped" with an empty dlq: '
    "dead letters of this source are thrown away.",
    (*LABELS, "source", "via"),
)
FAMILIES = (DEPTH, UNHANDLED, AGE, DELETION, ARRIVALS, SOURCE)


def measure(snapshot: ClusterSnapshot) -> Measured:
    """One row for each dead-letter queue, one for each source."""
    rows = {(snapshot.system, queue.vhost, queue.name): queue for queue in snapshot.dead_letter_queues}
    return {
        DEPTH: known({labels: queue.depth for labels, queue in rows.items()}),
        UNHANDLED: known({labels: queue.unhandled for labels, queue in rows.items()}),
        AGE: known({labels: queue.oldest_age_seconds for labels, queue in rows.items()}),
        DELETION: known({labels: queue.time_to_deletion_seconds for labels, queue in rows.items()}),
        ARRIVALS: known({labels: queue.arrivals for labels, queue in rows.items()}),
        SOURCE: {(snapshot.system, row.vhost, row.dlq, row.source, row.via): 1 for row in snapshot.dead_letter_sources},
    }
