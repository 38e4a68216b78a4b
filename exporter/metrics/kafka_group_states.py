"""Which partitions of a group are not in order, and how many are in each state."""

from __future__ import annotations

from exporter.metrics.family import Family, Measured, Samples
from exporter.metrics.kafka_group_offsets import rows
from exporter.model.kafka import KafkaSnapshot

SYSTEMS = {"kafka"}
STATE = Family(
    "mq_kafka_group_partition_state",
    "gauge",
    "1 for each partition that is not ok. no_commit: records but no commit; below_log_start: retention has deleted "
    "records that the group has not read; beyond_log_end: the commit is past the end, the log was truncated or made "
    "anew; unreadable: the partition or the commit can't be asked; future_timestamp: the next record is stamped later "
    "than now.",
    ("group", "topic", "partition", "state"),
)
PARTITIONS = Family(
    "mq_kafka_group_partitions",
    "gauge",
    "Partitions in each state that occurs, ok always. Counted are the assigned partitions and all of a topic with a "
    "commit; an empty partition without a commit is ok.",
    ("group", "topic", "state"),
)
FAMILIES = (STATE, PARTITIONS)


def measure(snapshot: KafkaSnapshot) -> Measured:
    """One sample for each partition that is not ok, and the counts of each group and topic."""
    states: Samples = {
        (group, topic.topic, str(partition), state): 1
        for group, topic in rows(snapshot)
        for partition, state in topic.states.items()
    }
    counts: Samples = {
        (group.name, topic.topic, state): count
        for group in snapshot.groups
        for topic in group.topics
        for state, count in topic.counts.items()
    }
    return {STATE: states, PARTITIONS: counts}
