"""Committed offset, lag and age of each group on each partition; left out at `granularity: topic`."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.metrics.family import Family, Measured
from exporter.model.kafka import GroupTopic, KafkaSnapshot

SYSTEMS = {"kafka"}
LABELS = ("group", "topic", "partition")
COMMITTED = Family(
    "mq_kafka_group_committed_offset",
    "gauge",
    "Next offset that the group will read, as committed; for a share group its start offset.",
    LABELS,
)
LAG = Family(
    "mq_kafka_group_lag_offsets",
    "gauge",
    "High watermark minus committed offset, counted from the log start where retention has already passed the commit. "
    "0 when only control records are left. In offsets: not a count of messages with transactions or compaction. "
    "Absent where there is no such number: mq_kafka_group_partition_state says why. Share groups: the broker's own "
    "number of records that are not yet acknowledged.",
    LABELS,
    requires="share groups: Kafka 4.2",
)
AGE = Family(
    "mq_kafka_group_oldest_message_age_seconds",
    "gauge",
    "Age of the first record that the group has not committed, by the record's own timestamp: with CreateTime the "
    "producer's clock. 0 when nothing is unread, absent when unknown.",
    LABELS,
)
BOUND = Family(
    "mq_kafka_group_age_error_bound_seconds",
    "gauge",
    "Only where the age is an estimate: the true age is within age plus or minus this. At most two intervals or a "
    "tenth of the age, or the age is withheld. Estimates are of the record at the committed offset, as the log grew "
    "or as records are stamped: that it was aborted or compacted away, they can't see.",
    LABELS,
)
FAMILIES = (COMMITTED, LAG, AGE, BOUND)


def rows(snapshot: KafkaSnapshot) -> Iterator[tuple[str, GroupTopic]]:
    """(group, its part on one topic) for all groups that are shown by partition."""
    if snapshot.granularity == "partition":
        for group in snapshot.groups:
            if not group.abandoned:
                yield from ((group.name, topic) for topic in group.topics)


def measure(snapshot: KafkaSnapshot) -> Measured:
    """Three samples for each partition with a commit, when all is well."""
    measured: Measured = {family: {} for family in FAMILIES}
    committed, lags, ages = measured[COMMITTED], measured[LAG], measured[AGE]
    for group, topic in rows(snapshot):
        labels = topic.labels
        committed.update(zip(labels, topic.committed, strict=True))
        lags.update(pair for pair in zip(labels, topic.lags, strict=True) if pair[1] is not None)  # type: ignore[misc]
        ages.update(pair for pair in zip(labels, topic.ages, strict=True) if pair[1] is not None)  # type: ignore[misc]
        for partition, bound in topic.error_bounds.items():
            measured[BOUND][group, topic.topic, str(partition)] = bound
    return measured
