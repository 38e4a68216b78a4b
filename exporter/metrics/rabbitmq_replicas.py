"""Members of quorum queues and streams, and dead letters that wait in their source."""

from __future__ import annotations

from exporter.metrics.family import Family, Measured, known
from exporter.model.rabbitmq import RabbitSnapshot

SYSTEMS = {"rabbitmq"}
LABELS = ("vhost", "queue")
REPLICAS = Family("mq_rabbitmq_queue_replicas", "gauge", "Members of the quorum queue or stream.", LABELS)
ONLINE = Family("mq_rabbitmq_queue_replicas_online", "gauge", "Members that are online.", LABELS)
AVAILABLE = Family(
    "mq_rabbitmq_queue_leader_available",
    "gauge",
    "1 while the leader's node runs and a majority of the members is online, so that the queue takes messages. The "
    "broker's own state is not used: 3.10 says `running` in a minority.",
    LABELS,
)
HELD = Family(
    "mq_rabbitmq_queue_held_dead_letter_messages",
    "gauge",
    "At-least-once dead letters that wait in the source queue for their target to take them (quorum queues). "
    "They stay while the dead-letter exchange is missing or leads nowhere, and are part of the queue's total depth.",
    LABELS,
)
FAMILIES = (REPLICAS, ONLINE, AVAILABLE, HELD)


def measure(snapshot: RabbitSnapshot) -> Measured:
    """One row for each queue that has members."""
    rows = {tuple(queue.id): queue.replicas for queue in snapshot.queues if queue.replicas is not None}
    available = {labels: replicas.leader_available for labels, replicas in rows.items()}
    return {
        REPLICAS: known({labels: replicas.total for labels, replicas in rows.items()}),
        ONLINE: known({labels: replicas.online for labels, replicas in rows.items()}),
        AVAILABLE: {labels: int(value) for labels, value in available.items() if value is not None},
        HELD: known({labels: replicas.held_dead_letters for labels, replicas in rows.items()}),
    }
