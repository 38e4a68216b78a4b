"""Groups: who is in them and how they fare, whatever their protocol."""

from __future__ import annotations

from exporter.metrics.family import Family, Measured, known
from exporter.model.kafka import KafkaSnapshot

SYSTEMS = {"kafka"}
MEMBERS = Family(
    "mq_kafka_group_members",
    "gauge",
    "Members of the group now. An empty group keeps its lag. Absent when it could not be described.",
    ("group",),
)
IDLE = Family(
    "mq_kafka_group_members_idle",
    "gauge",
    "Members without any partition: more members than partitions, or an assignor that leaves some out. Absent while "
    "the group rebalances.",
    ("group",),
)
STATE = Family(
    "mq_kafka_group_state",
    "gauge",
    "1 for the state that the coordinator gives: stable, empty, preparing_rebalance, completing_rebalance, assigning, "
    "reconciling, not_ready.",
    ("group", "state"),
)
INFO = Family(
    "mq_kafka_group_info", "info", "Protocol of the group: classic, consumer, share, streams.", ("group", "type")
)
FAMILIES = (MEMBERS, IDLE, STATE, INFO)


def measure(snapshot: KafkaSnapshot) -> Measured:
    """Four samples for each group."""
    groups = snapshot.groups
    return {
        MEMBERS: known({(group.name,): group.members for group in groups}),
        IDLE: known({(group.name,): group.members_idle for group in groups}),
        STATE: {(group.name, group.state): 1 for group in groups if group.state},
        INFO: {(group.name, group.type): 1 for group in groups},
    }
