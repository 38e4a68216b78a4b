"""Groups by topic: what alerts use, at either granularity."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.metrics.family import Family, Measured, known
from exporter.metrics.kafka_group_offsets import rows
from exporter.model.kafka import GroupTopic, KafkaSnapshot
from exporter.model.kafka_lag import hottest_share, lag_total, oldest_age

SYSTEMS = {"kafka"}
LABELS = ("group", "topic")
LOWER_BOUND = "A lower bound while mq_kafka_group_partitions counts partitions that are not ok."
LAG = Family(
    "mq_kafka_group_topic_lag_offsets",
    "gauge",
    f"Sum of the lag over the partitions of the topic. {LOWER_BOUND}",
    LABELS,
)
AGE = Family(
    "mq_kafka_group_topic_oldest_message_age_seconds",
    "gauge",
    f"Age of the oldest record of the topic that the group has not committed. {LOWER_BOUND}",
    LABELS,
)
RETENTION = Family(
    "mq_kafka_group_topic_retention_used_ratio",
    "gauge",
    f"The worst partition's share of the retained log that is still unread: 1 means loss is next. 0 without lag. "
    f"{LOWER_BOUND}",
    LABELS,
)
HOTTEST = Family(
    "mq_kafka_group_topic_hottest_partition_ratio",
    "gauge",
    "Share of the worst partition in the lag of the topic: near 1 on many partitions is a hot key or a stuck member. "
    "Absent without lag.",
    LABELS,
)
PARTITION_RETENTION = Family(
    "mq_kafka_group_retention_used_ratio",
    "gauge",
    "Share of the retained log that the group has not read yet: 1 means loss is next. Only while there is lag.",
    (*LABELS, "partition"),
)
LOST = Family(
    "mq_kafka_group_lost_offsets_total",
    "counter",
    "Offsets that retention deleted before the group read them, as far as polls saw it: a group that jumps ahead "
    "between two polls is not counted. Starts afresh with a new topic id.",
    LABELS,
)
REWINDS = Family(
    "mq_kafka_group_offset_rewinds_total",
    "counter",
    "Commits that went back on the same topic id: a reset, or a replay. Counted once for each partition and poll.",
    LABELS,
)
FAMILIES = (LAG, AGE, RETENTION, HOTTEST, PARTITION_RETENTION, LOST, REWINDS)


def measure(snapshot: KafkaSnapshot) -> Measured:
    """Six samples at most for each group and topic."""
    topics = list(_topics(snapshot))
    return {
        LAG: known({labels: lag_total(topic) for labels, topic in topics}),
        AGE: known({labels: oldest_age(topic) for labels, topic in topics}),
        RETENTION: known({labels: _retention(topic) for labels, topic in topics}),
        HOTTEST: known({labels: hottest_share(topic) for labels, topic in topics}),
        PARTITION_RETENTION: {
            (group, topic.topic, str(partition)): ratio
            for group, topic in rows(snapshot)
            for partition, ratio in topic.retention_used.items()
        },
        LOST: {labels: topic.lost for labels, topic in topics},
        REWINDS: {labels: topic.rewinds for labels, topic in topics},
    }


def _topics(snapshot: KafkaSnapshot) -> Iterator[tuple[tuple[str, str], GroupTopic]]:
    for group in snapshot.groups:
        yield from (((group.name, topic.topic), topic) for topic in group.topics)


def _retention(topic: GroupTopic) -> float | None:
    return max(topic.retention_used.values(), default=None if lag_total(topic) is None else 0.0)
