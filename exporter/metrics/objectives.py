"""Objectives: the limits that alerts compare with, one for each series that they are about."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.metrics.family import Family, Labels, Measured
from exporter.model.common import ClusterSnapshot
from exporter.model.kafka import KafkaSnapshot
from exporter.model.objectives import BACKLOG, DLQ, LAG_FLOOR, LAG_SECONDS, UNACKNOWLEDGED, Objective, resolve
from exporter.model.rabbitmq import RabbitSnapshot

SYSTEMS = {"kafka", "rabbitmq"}
WHOSE = ("owner", "tier")
FROM = "From the configuration, or the default; owner and tier say whom it is about and how urgent it is"
SECONDS = Family(
    "mq_objective_lag_seconds",
    "gauge",
    f"How old the oldest record that the group has not read may be. {FROM}.",
    ("group", "topic", *WHOSE),
)
FLOOR = Family(
    "mq_objective_lag_floor_offsets",
    "gauge",
    f"Lag below which nothing is said about the group on this topic. {FROM}.",
    ("group", "topic", *WHOSE),
)
UNHANDLED = Family(
    "mq_objective_dlq_unhandled_messages",
    "gauge",
    f"Unhandled dead letters from which on somebody has to know: 1 is the first one. {FROM}.",
    ("system", "vhost", "dlq", *WHOSE),
)
READY = Family(
    "mq_objective_backlog_messages",
    "gauge",
    f"Ready messages that the queue may have. Dead-letter queues have none: theirs is "
    f"mq_objective_dlq_unhandled_messages. {FROM}.",
    ("vhost", "queue", "type", "role", *WHOSE),
)
UNACKED = Family(
    "mq_objective_unacknowledged_messages",
    "gauge",
    f"Unacknowledged messages that the queue may have. {FROM}.",
    ("vhost", "queue", "type", "role", *WHOSE),
)
FAMILIES = (SECONDS, FLOOR, UNHANDLED, READY, UNACKED)


def measure(snapshot: ClusterSnapshot) -> Measured:
    """One sample for each group and topic, dead-letter queue and queue, with the labels of what it is about."""
    measured: Measured = {family: {} for family in FAMILIES}
    if isinstance(snapshot, KafkaSnapshot):
        for labels, found in _lag(snapshot):
            measured[SECONDS][labels] = found.limits[LAG_SECONDS]
            measured[FLOOR][labels] = found.limits[LAG_FLOOR]
    if isinstance(snapshot, RabbitSnapshot):
        _queues(snapshot, measured)
    for queue in snapshot.dead_letter_queues:
        found = resolve(snapshot.objectives.dead_letters, (queue.vhost, queue.name))
        measured[UNHANDLED][snapshot.system, queue.vhost, queue.name, found.owner, found.tier] = found.limits[DLQ]
    return measured


def _lag(snapshot: KafkaSnapshot) -> Iterator[tuple[Labels, Objective]]:
    for group in snapshot.groups:
        for topic in group.topics:
            found = resolve(snapshot.objectives.lag, (group.name, topic.topic))
            yield (group.name, topic.topic, found.owner, found.tier), found


def _queues(snapshot: RabbitSnapshot, measured: Measured) -> None:
    for queue in snapshot.queues:
        if queue.ready is None and queue.unacknowledged is None:
            continue
        found = resolve(snapshot.objectives.queues, queue.id)
        labels = (*queue.id, queue.type, queue.role, found.owner, found.tier)
        if queue.ready is not None and queue.role != "dlq":
            measured[READY][labels] = found.limits[BACKLOG]
        if queue.unacknowledged is not None:
            measured[UNACKED][labels] = found.limits[UNACKNOWLEDGED]
