"""One Kafka cluster at one moment: brokers, topics, partitions, groups.

Everything that belongs to the partitions of one topic is kept side by side in tuples, so that 100,000 group-partitions
cost no objects of their own. None, or a missing key, is unknown: never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from exporter.model.common import ClusterSnapshot

OK = "ok"
NO_COMMIT = "no_commit"
BELOW_LOG_START = "below_log_start"
BEYOND_LOG_END = "beyond_log_end"
UNREADABLE = "unreadable"
FUTURE_TIMESTAMP = "future_timestamp"

PartitionLabels = tuple[str, str]  # topic, partition
GroupPartitionLabels = tuple[str, str, str]  # group, topic, partition


@dataclass(frozen=True, slots=True)
class LogDir:
    """One log directory. An offline one has no sizes; `total` and `usable` are also None where the broker can't say."""

    broker: int
    path: str
    offline: bool
    used: int | None
    total: int | None
    usable: int | None


@dataclass(frozen=True, slots=True)
class Quorum:
    """KRaft's own log, as its leader, the active controller, sees it. Lag is in offsets behind the leader."""

    leader: int
    epoch: int
    voters: int
    voter_lags: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """What a topic's configuration says. `retention_seconds` is None where nothing is deleted by time."""

    min_in_sync: int | None = None
    cleanup_policy: str | None = None
    timestamp_type: str | None = None
    retention_seconds: float | None = None
    remote_storage: bool = False
    takes_dead_letters: bool = False  # errors.deadletterqueue.group.enable (KIP-1191)


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic. The tuples have one entry for each partition, whose numbers are in `partitions`, in ascending order.

    `log_starts`, `last_stables` and `high_watermarks` hold None where a partition could not be asked.
    `leaders` holds -1 for a partition without a leader. `settings` is None while they are unknown.
    """

    name: str
    topic_id: str  # as Kafka's tools write it, empty where the broker has none
    internal: bool
    partitions: tuple[int, ...]
    labels: tuple[PartitionLabels, ...]
    leaders: tuple[int, ...]
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    log_starts: tuple[int | None, ...]
    last_stables: tuple[int | None, ...]
    high_watermarks: tuple[int | None, ...]
    settings: TopicSettings | None = None
    open_transactions: Mapping[int, float] = field(default_factory=dict)  # partition -> seconds since it began


@dataclass(frozen=True, slots=True)
class GroupTopic:
    """One group on one topic. The tuples have one entry for each partition with a commit.

    `lags` and `ages` hold None where there is no such number: the state of the partition says why.
    `states` names the partitions that are not ok, those without a commit too; `counts` covers the whole domain.
    """

    topic: str
    labels: tuple[GroupPartitionLabels, ...]
    partitions: tuple[int, ...]
    committed: tuple[int, ...]
    lags: tuple[int | None, ...]
    ages: tuple[float | None, ...]
    error_bounds: Mapping[int, float]  # by partition, only where the age is an estimate
    retention_used: Mapping[int, float]  # by partition, only while there is lag
    states: Mapping[int, str]
    counts: Mapping[str, int]
    lost: int
    rewinds: int


@dataclass(frozen=True, slots=True)
class Group:
    """One group, whatever its protocol. `members_idle` is None while it rebalances: nobody has an assignment then."""

    name: str
    type: str  # classic, consumer, share or streams
    state: str  # stable, empty, preparing_rebalance, ...
    members: int | None
    members_idle: int | None
    topics: tuple[GroupTopic, ...] = ()
    abandoned: bool = False  # no member and no commit for long: left out per partition


@dataclass(frozen=True, slots=True)
class KafkaSnapshot(ClusterSnapshot):
    """A Kafka cluster. `brokers` maps ids to whether they are members now; fenced and missing ones are False."""

    granularity: str = "partition"
    brokers: Mapping[int, bool] = field(default_factory=dict)
    log_dirs: tuple[LogDir, ...] = ()
    quorum: Quorum | None = None
    topics: tuple[Topic, ...] = ()
    groups: tuple[Group, ...] = ()
