"""The tables of the status page: clusters, longest waits, largest backlogs, dead letters, transactions, disks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from heapq import nlargest

from exporter.model.common import ClusterSnapshot
from exporter.status.facts import Facts
from exporter.status.units import counted

TOP = 10


@dataclass(frozen=True, slots=True)
class ClusterCard:
    """One cluster at a glance.

    `state` is fresh, partial (a collector failed), stale or waiting; `mood` the worst that needs attention in it.
    """

    name: str
    system: str
    state: str
    mood: str
    age: float | None  # seconds since the poll began
    interval: float
    members: str
    endpoints: str
    failing: tuple[str, ...]
    collectors: int
    withheld: str


@dataclass(frozen=True, slots=True)
class Backlog:
    """Something unread: a group's topic at its worst partition, or a queue. None is unknown."""

    cluster: str
    name: str
    place: str
    age: float | None
    bound: float | None  # the age is an estimate, and true within this many seconds
    amount: float | None
    partition: str = ""


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """One dead-letter queue that holds something, or whose content is not known."""

    cluster: str
    name: str
    vhost: str
    unhandled: int | None
    depth: int | None
    age: float | None
    deletion: float | None
    sources: str


@dataclass(frozen=True, slots=True)
class Transaction:
    """An open transaction, which holds back those who read committed."""

    cluster: str
    place: str
    age: float


@dataclass(frozen=True, slots=True)
class DiskRow:
    """Space of one directory; `alarm` None is unknown."""

    cluster: str
    node: str
    dir: str
    free: int | None
    limit: int | None
    alarm: bool | None


def cards(clusters: Iterable[Facts], moods: Mapping[str, str], now: float) -> list[ClusterCard]:
    """Every cluster, polled or not. `moods`: cluster to the worst that needs attention; a calm one is left out."""
    return [_card(facts, moods.get(facts.cluster, "calm"), now) for facts in clusters]


def _card(facts: Facts, mood: str, now: float) -> ClusterCard:
    snapshot = facts.snapshot
    runs = snapshot.runs if snapshot else ()
    failing = tuple(run.name for run in runs if not run.success)
    state = "waiting" if snapshot is None else "stale" if not facts.fresh else "partial" if failing else "fresh"
    withheld: dict[str, int] = defaultdict(int)
    for run in runs:
        for reason, count in run.skipped.items():
            withheld[reason] += count
    return ClusterCard(
        name=facts.cluster,
        system={"kafka": "Kafka", "rabbitmq": "RabbitMQ"}.get(facts.system, facts.system),
        state=state,
        mood=mood,
        age=None if snapshot is None else max(now - snapshot.taken_at, 0.0),
        interval=facts.interval,
        members=_members(facts),
        endpoints=_endpoints(snapshot) if facts.fresh else "",
        failing=failing,
        collectors=len(runs),
        withheld=", ".join(
            f"{count:,} {reason.replace('_', ' ')}" for reason, count in sorted(withheld.items()) if count
        ),
    )


def _members(facts: Facts) -> str:
    family, what = ("mq_kafka_broker_up", "broker") if facts.system == "kafka" else ("mq_rabbitmq_node_up", "node")
    states = [value for _, value in facts.rows(family)]
    if not states:
        return f"{what}s unknown"
    up = sum(state == 1 for state in states)
    return f"{counted(up, what)} up" if up == len(states) else f"{up} of {len(states)} {what}s up"


def _endpoints(snapshot: ClusterSnapshot | None) -> str:
    silent = [endpoint for endpoint, answered in snapshot.endpoints.items() if not answered] if snapshot else []
    return f"no answer from {', '.join(silent[:3])}{' …' if len(silent) > 3 else ''}" if silent else ""


def backlogs(clusters: Iterable[Facts]) -> list[Backlog]:
    """Everything that has something unread, or whose age or amount is not known; in no order."""
    return [row for facts in clusters for row in (_groups(facts) if facts.system == "kafka" else _queues(facts))]


def _groups(facts: Facts) -> list[Backlog]:
    """One row for each group and topic: the worst partition's age, and the lag of all partitions together."""
    worst: dict[tuple[str, ...], tuple[float | None, str]] = {
        key: (age, "")
        for key, age in facts.by("mq_kafka_group_topic_oldest_message_age_seconds", "group", "topic").items()
    }
    per_partition = facts.by("mq_kafka_group_oldest_message_age_seconds", "group", "topic", "partition")
    for (group, topic, partition), age in per_partition.items():
        if not age:  # most of 100,000
            continue
        known, place = worst.get((group, topic), (None, ""))
        if known is None or age > known or not place:
            worst[group, topic] = (age, partition)
    lags = facts.by("mq_kafka_group_topic_lag_offsets", "group", "topic")
    bounds = facts.by("mq_kafka_group_age_error_bound_seconds", "group", "topic", "partition")
    rows = []
    for group, topic in dict.fromkeys([*lags, *worst]):
        oldest, partition = worst.get((group, topic), (None, ""))
        bound = bounds.get((group, topic, partition))
        rows.append(Backlog(facts.cluster, group, topic, oldest, bound, lags.get((group, topic)), partition))
    return [row for row in rows if row.age or row.amount or row.amount is None]


def _queues(facts: Facts) -> list[Backlog]:
    """One row for each queue, and one for each consumer of a stream."""
    ready = facts.by("mq_rabbitmq_queue_messages_ready", "vhost", "queue")
    unacknowledged = facts.by("mq_rabbitmq_queue_messages_unacknowledged", "vhost", "queue")
    ages = facts.by("mq_rabbitmq_queue_oldest_message_age_seconds", "vhost", "queue")
    bounds = facts.by("mq_rabbitmq_queue_age_error_bound_seconds", "vhost", "queue")
    rows = []
    for key in dict.fromkeys([*ready, *ages]):
        vhost, queue = key
        amount = ready[key] + unacknowledged.get(key, 0) if key in ready else None
        rows.append(Backlog(facts.cluster, queue, f"vhost {vhost}", ages.get(key), bounds.get(key), amount))
    for row, lag in facts.rows("mq_rabbitmq_stream_consumer_lag_offsets"):
        place = f"stream {row['queue']}, vhost {row['vhost']}"
        rows.append(Backlog(facts.cluster, row["consumer"], place, None, None, lag))
    return [row for row in rows if row.age or row.amount]


def longest(rows: list[Backlog]) -> list[Backlog]:
    """The ten whose oldest message has waited longest; first by name where they are equal."""
    known = sorted((row for row in rows if row.age), key=lambda row: (row.cluster, row.name, row.place))
    return nlargest(TOP, known, key=lambda row: row.age or 0)


def largest(rows: list[Backlog]) -> list[Backlog]:
    """The ten with the most unread."""
    known = sorted((row for row in rows if row.amount), key=lambda row: (row.cluster, row.name, row.place))
    return nlargest(TOP, known, key=lambda row: row.amount or 0)


def dead_letters(clusters: Iterable[Facts]) -> list[DeadLetters]:
    """Dead-letter queues with something unhandled, oldest first; then those of which it is not known."""
    rows = []
    for facts in clusters:
        if facts.snapshot is None or not facts.fresh:
            continue
        sources: dict[tuple[str, str], list[str]] = defaultdict(list)
        for source in facts.snapshot.dead_letter_sources:
            sources[source.vhost, source.dlq].append(source.source)
        for queue in facts.snapshot.dead_letter_queues:
            if queue.unhandled != 0:
                fed_by = ", ".join(sorted(set(sources[queue.vhost, queue.name])))
                rows.append(
                    DeadLetters(
                        facts.cluster, queue.name, queue.vhost, queue.unhandled, queue.depth,
                        queue.oldest_age_seconds, queue.time_to_deletion_seconds, fed_by,
                    )
                )  # fmt: skip
    return sorted(rows, key=lambda row: (row.unhandled is None, -(row.age or 0), -(row.unhandled or 0), row.name))


def transactions(clusters: Iterable[Facts]) -> list[Transaction]:
    """The ten oldest open transactions."""
    rows = [
        Transaction(facts.cluster, f"{row['topic']}[{row['partition']}]", age)
        for facts in clusters
        for row, age in facts.rows("mq_kafka_partition_open_transaction_seconds")
    ]
    return nlargest(TOP, rows, key=lambda row: row.age)


def disks(clusters: Iterable[Facts]) -> list[DiskRow]:
    """The ten directories in the worst way: alarms, then unknown ones, then those closest to their limit."""
    rows = [
        DiskRow(facts.cluster, disk.node, disk.dir, disk.free_bytes, disk.free_limit_bytes, disk.alarm)
        for facts in clusters
        if facts.snapshot is not None and facts.fresh
        for disk in facts.snapshot.disks
    ]
    rank = {True: 0, None: 1, False: 2}
    return sorted(rows, key=lambda row: (rank[row.alarm], (row.free or 0) / (row.limit or 1)))[:TOP]
