"""How long the oldest message of each queue has been waiting."""

from __future__ import annotations

from exporter.metrics.family import Family, Measured, known
from exporter.model.rabbitmq import RabbitSnapshot

SYSTEMS = {"rabbitmq"}
LABELS = ("vhost", "queue", "type", "role")
AGE = Family(
    "mq_rabbitmq_queue_oldest_message_age_seconds",
    "gauge",
    "Age of the oldest message, ready or unacknowledged; 0 for an empty queue, absent when unknown. From the head's "
    "timestamp (classic queues; the first publisher's clock), from the broker's own time of entry (quorum queues, with "
    "`cli:`; told when the tool was last asked, up to three intervals ago), else estimated from depth and departures, "
    "taking the queue as first in, first out. No message is taken.",
    LABELS,
)
BOUND = Family(
    "mq_rabbitmq_queue_age_error_bound_seconds",
    "gauge",
    "Only where the age is an estimate from history: the true age, as of the broker's statistics, is within the age "
    "plus or minus this. At most two intervals or a tenth of the age, or the age is withheld. A message that a "
    "consumer holds while it acknowledges later ones, or that is requeued behind others, is not seen.",
    LABELS,
)
METHOD = Family(
    "mq_rabbitmq_queue_oldest_message_age_info",
    "info",
    "How the age is known: head_timestamp, broker (its own time of entry; a requeue without delivery limit restarts "
    "it) or history (an estimate).",
    ("vhost", "queue", "method"),
)
FAMILIES = (AGE, BOUND, METHOD)


def measure(snapshot: RabbitSnapshot) -> Measured:
    """One row for each queue whose age is known."""
    rows = {(*queue.id, queue.type, queue.role): queue.age for queue in snapshot.queues if queue.age is not None}
    methods = {queue.id: queue.age.method for queue in snapshot.queues if queue.age is not None}
    return {
        AGE: {labels: age.seconds for labels, age in rows.items()},
        BOUND: known({labels: age.error_bound for labels, age in rows.items()}),
        METHOD: {(*queue, method): 1 for queue, method in methods.items() if method != "empty"},
    }
