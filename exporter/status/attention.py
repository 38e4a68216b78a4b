"""What needs attention, worst first, each in a sentence. Unknown is its own level and never "all is well"."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum

from exporter.model.common import Kind, Problem
from exporter.status.facts import Facts
from exporter.status.units import counted, duration, number, size

LISTED = 6  # of one kind in one cluster; the rest is counted
LONG_TRANSACTION = 60.0  # seconds; Kafka's default transaction time-out
SEEN_STATES = {
    "below_log_start": "deleted before it was read",
    "beyond_log_end": "a commit beyond the end of the log (truncated, or the topic was re-created)",
    "unreadable": "could not be read",
    "future_timestamp": "records from the future: a clock is wrong",
    "no_commit": "no commit yet",
}


class Level(IntEnum):
    """How much it matters; the order is the order on the page."""

    ALARM = 0
    WARNING = 1
    UNKNOWN = 2


@dataclass(frozen=True, slots=True)
class Attention:
    """One line of the page's top. `what` is the short statement, `detail` what a tired person needs next."""

    level: Level
    cluster: str
    what: str
    detail: str = ""


Finder = Callable[[Facts], Iterator[Attention]]


def attention(clusters: list[Facts], now: float) -> list[Attention]:
    """Everything that needs attention, alarms first, otherwise in the order of the clusters."""
    found = [item for facts in clusters for item in _freshness(facts, now)]
    for finder in FINDERS:
        for facts in clusters:
            listed = list(finder(facts))
            found += listed[:LISTED]
            if len(listed) > LISTED:
                worst = min(item.level for item in listed[LISTED:])
                found.append(Attention(worst, facts.cluster, f"{len(listed) - LISTED:,} more like these"))
    return sorted(found, key=lambda item: item.level)


def _freshness(facts: Facts, now: float) -> Iterator[Attention]:
    if facts.snapshot is None:
        yield Attention(Level.UNKNOWN, facts.cluster, "not polled yet", "the first poll has not ended")
    elif not facts.fresh:
        age = duration(now - facts.snapshot.taken_at)
        detail = (
            f"the last poll began {age} ago, more than three intervals; its data is withheld. "
            "Either a request hangs or the exporter has too little CPU: its log says more"
        )
        yield Attention(Level.UNKNOWN, facts.cluster, "no fresh data", detail)


def _collectors(facts: Facts) -> Iterator[Attention]:
    """What could not be read, each once however many collectors it stopped; what is not offered is no failure."""
    if facts.snapshot is None or not facts.fresh:
        return
    stopped: dict[Problem, list[str]] = {}
    for run in facts.snapshot.runs:
        failures = [problem for problem in run.problems if problem.kind is not Kind.UNSUPPORTED]
        for problem in failures:
            stopped.setdefault(problem, []).append(run.name)
        if not run.success and not failures:
            yield Attention(Level.UNKNOWN, facts.cluster, f"collector {run.name} failed", "it gave no reason")
    for problem, names in stopped.items():
        detail = f"{problem.detail.removeprefix(f'{problem.item}: ')} ({', '.join(names)})"
        yield Attention(Level.UNKNOWN, facts.cluster, f"{problem.item} could not be read", detail)


def _disks(facts: Facts) -> Iterator[Attention]:
    for disk in facts.snapshot.disks if facts.snapshot and facts.fresh else ():
        where = f"{'broker ' if facts.system == 'kafka' else ''}{disk.node} {disk.dir}"
        if disk.alarm and disk.free_bytes is None:
            yield Attention(
                Level.ALARM, facts.cluster, f"disk offline: {where}", "the broker cannot use this directory"
            )
        elif disk.alarm:
            blocked = "; publishers are blocked on every node" if facts.system == "rabbitmq" else ""
            detail = f"{size(disk.free_bytes)} free, the limit is {size(disk.free_limit_bytes)}{blocked}"
            yield Attention(Level.ALARM, facts.cluster, f"disk alarm: {where}", detail)
        elif disk.alarm is None:
            yield Attention(
                Level.UNKNOWN, facts.cluster, f"disk unknown: {where}", "no free space or no limit is known"
            )


def _memory(facts: Facts) -> Iterator[Attention]:
    for row in facts.where("mq_rabbitmq_node_memory_alarm", 1):
        used = facts.by("mq_rabbitmq_node_memory_used_bytes", "node").get((row["node"],))
        limit = facts.by("mq_rabbitmq_node_memory_limit_bytes", "node").get((row["node"],))
        detail = f"{size(used)} used, the limit is {size(limit)}; publishers are blocked on every node"
        yield Attention(Level.ALARM, facts.cluster, f"memory alarm: {row['node']}", detail)


def _members(facts: Facts) -> Iterator[Attention]:
    for row in facts.where("mq_kafka_broker_up", 0):
        yield Attention(Level.ALARM, facts.cluster, f"broker {row['broker']} is down", "not in the cluster, or fenced")
    for row in facts.where("mq_rabbitmq_node_up", 0):
        yield Attention(Level.ALARM, facts.cluster, f"node {row['node']} is down")
    for row in facts.where("mq_rabbitmq_node_partitioned", 1):
        detail = "it does not see all other nodes; queues may have two leaders"
        yield Attention(Level.ALARM, facts.cluster, f"network partition: {row['node']}", detail)
    for wanted, up, what in EXPECTED:
        known = len(list(facts.rows(up)))
        for _, count in facts.rows(wanted):
            if 0 < known < count:  # those that are known and down have been told one by one
                text = f"{number(count - known)} of {number(count)} expected {what} missing"
                yield Attention(Level.ALARM, facts.cluster, text, "nobody in the cluster knows of them")


def _groups(facts: Facts) -> Iterator[Attention]:
    """Groups that the configuration expects and that nobody knows."""
    known = facts.by("mq_kafka_group_state", "group")
    for row, _ in facts.rows("mq_expected_group"):
        if (row["group"],) not in known:
            level = Level.WARNING if facts.readable else Level.UNKNOWN
            detail = "it never committed and has no member, or its name is different" if facts.readable else ""
            yield Attention(level, facts.cluster, f"group {row['group']} was not found", detail)


EXPECTED = (
    ("mq_expected_brokers", "mq_kafka_broker_up", "brokers"),
    ("mq_expected_nodes", "mq_rabbitmq_node_up", "nodes"),
)


def _partitions(facts: Facts) -> Iterator[Attention]:
    for family, what, detail in (
        ("mq_kafka_partition_offline", "without a leader", "nobody can read or write them"),
        ("mq_kafka_partition_under_min_isr", "below min ISR", "producers with acks=all are refused"),
    ):
        rows = facts.where(family, 1)
        if rows:
            first = ", ".join(f"{row['topic']}[{row['partition']}]" for row in rows[:3])
            more = f" and {len(rows) - 3:,} more" if len(rows) > 3 else ""
            yield Attention(
                Level.ALARM, facts.cluster, f"{counted(len(rows), 'partition')} {what}", f"{first}{more}: {detail}"
            )
    for row in facts.where("mq_rabbitmq_queue_leader_available", 0):
        what = f"queue {row['queue']} has no leader"
        yield Attention(Level.ALARM, facts.cluster, what, f"vhost {row['vhost']}: nobody can read or write it")


def _dead_letters(facts: Facts) -> Iterator[Attention]:
    for queue in facts.snapshot.dead_letter_queues if facts.snapshot and facts.fresh else ():
        if queue.unhandled:
            what = f"{counted(queue.unhandled, 'dead letter')} in {queue.name}"
            age = queue.oldest_age_seconds
            yield Attention(Level.WARNING, facts.cluster, what, f"the oldest is {duration(age)} old" if age else "")
        elif queue.unhandled is None:
            yield Attention(Level.UNKNOWN, facts.cluster, f"dead letters in {queue.name} unknown")
    for source in facts.snapshot.dead_letter_sources if facts.snapshot and facts.fresh else ():
        if source.via == "dropped":
            what = f"dead letters of {source.source} are thrown away"
            detail = "its dead-letter exchange does not exist or leads to no queue"
            yield Attention(Level.WARNING, facts.cluster, what, detail)


def _transactions(facts: Facts) -> Iterator[Attention]:
    for row, age in facts.rows("mq_kafka_partition_open_transaction_seconds"):
        if age >= LONG_TRANSACTION:
            what = f"transaction open for {duration(age)} in {row['topic']}[{row['partition']}]"
            yield Attention(Level.WARNING, facts.cluster, what, "read-committed consumers wait behind it")


def _group_states(facts: Facts) -> Iterator[Attention]:
    for row, count in facts.rows("mq_kafka_group_partitions"):
        state = row["state"]
        if state not in {"ok", "no_commit"} and count:
            level = Level.UNKNOWN if state == "unreadable" else Level.WARNING
            what = f"{row['group']} on {row['topic']}: {counted(int(count), 'partition')} {state.replace('_', ' ')}"
            yield Attention(level, facts.cluster, what, SEEN_STATES.get(state, ""))


def _connections(facts: Facts) -> Iterator[Attention]:
    for row, count in facts.rows("mq_rabbitmq_connections"):
        if row["state"] in {"blocked", "blocking"} and count:
            where = f" on {row['node']}" if row.get("node") else ""
            what = f"{counted(int(count), 'connection')} {row['state']}{where}"
            yield Attention(Level.WARNING, facts.cluster, what, "an alarm holds publishers back")


FINDERS: tuple[Finder, ...] = (
    _members, _disks, _memory, _partitions, _transactions, _dead_letters, _groups, _group_states, _connections,
    _collectors,
)  # fmt: skip
