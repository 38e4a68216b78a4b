"""From what the brokers said to the parts of a snapshot: joins commits with ends, histories and record times."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from exporter.clients.kafka.commits import CommitTable
from exporter.clients.kafka.ends import EndTable
from exporter.clients.kafka.groups import GroupFacts
from exporter.clients.kafka.memory import Memory, rises
from exporter.clients.kafka.messages.metadata import TopicRow
from exporter.clients.kafka.messages.offset_fetch import TopicCommits
from exporter.clients.kafka.settings import SettingsReader
from exporter.clients.kafka.wire import NO_TOPIC_ID, printable
from exporter.model.kafka import BEYOND_LOG_END, Group, GroupTopic, Topic
from exporter.model.kafka_history import TopicHistory, advance, advance_group, is_abandoned
from exporter.model.kafka_lag import Commits, Counters, RawLags, TopicEnds, group_topic, raw_lags, unread
from exporter.model.record_time import Position, RecordTime, Wanted

NOTHING = TopicCommits((), ())
Recall = Callable[[str, str, bytes, list[tuple[int, int]], TopicEnds], "tuple[float, ...] | None"]
TIMELESS: Mapping[Position, RecordTime] = {}


@dataclass(slots=True)
class Row:
    """One group on one topic, on its way into the snapshot."""

    commits: Commits
    ends: TopicEnds
    raw: RawLags
    counters: Counters
    stamps: tuple[float, ...] | None = None  # of the records that lagging partitions wait for, when all are known


@dataclass(slots=True)
class World:
    """One poll's facts, side by side. `ids` are topic ids as bytes, `leaders` by topic and partition number."""

    rows: Mapping[str, TopicRow]
    ends: EndTable
    commits: CommitTable
    groups: Mapping[str, GroupFacts]
    went_back: dict[str, frozenset[int]] = field(default_factory=dict)
    by_group: dict[str, list[Row]] = field(default_factory=dict)


@lru_cache(maxsize=65536)
def topic_id_text(topic_id: bytes) -> str:
    """As Kafka's tools write it; empty for none."""
    return "" if topic_id == NO_TOPIC_ID else urlsafe_b64encode(topic_id).decode().rstrip("=")


def topics(world: World, memory: Memory, settings: SettingsReader) -> list[Topic]:
    """All topics, without their open transactions; notes log ends that went back and contradictions."""
    built = []
    for name, row in world.rows.items():
        ends = world.ends.topics[name]
        world.went_back[name] = frozenset(memory.went_back(name, row.topic_id, ends.highs))
        _count_contradictions(ends, memory)
        built.append(_topic(row, ends, memory, settings))
    return built


def _topic(row: TopicRow, ends: TopicEnds, memory: Memory, settings: SettingsReader) -> Topic:
    numbers = tuple(part.partition for part in row.partitions)
    return Topic(
        row.name,
        topic_id_text(row.topic_id),
        row.internal,
        numbers,
        memory.topic_labels(row.name, numbers),
        tuple(part.leader for part in row.partitions),
        tuple(part.replicas for part in row.partitions),
        tuple(part.in_sync for part in row.partitions),
        tuple(ends.starts[number] for number in numbers),
        tuple(ends.stables[number] for number in numbers),
        tuple(ends.highs[number] for number in numbers),
        settings.of(row),
    )


def _count_contradictions(ends: TopicEnds, memory: Memory) -> None:
    for name, lower, upper in (
        ("log_start_above_high_watermark", ends.starts, ends.highs),
        ("last_stable_above_high_watermark", ends.stables, ends.highs),
    ):
        memory.contradictions[name] += rises(lower, upper)


def lags(world: World, memory: Memory, now: float) -> None:
    """Fill `by_group` with everything but ages, and take the histories one poll further."""
    beyond = set()
    for name, facts in world.groups.items():
        if name in world.commits.failed or name not in world.commits.topics:
            beyond |= {key for key in memory.beyond if key[0] == name}
            continue
        rows, histories = [], {}
        before = memory.histories.get(name)
        for topic, commits in _with_assigned(world, facts).items():
            row, history = _row(world, memory, facts, topic, commits, before.topics.get(topic) if before else None)
            rows.append(row)
            histories[topic] = history
            beyond |= {(name, topic, part) for part, state in row.raw.states.items() if state == BEYOND_LOG_END}
        world.by_group[name] = rows
        memory.histories[name] = advance_group(before, histories, now)
    memory.contradictions["commit_above_high_watermark"] += len(beyond - memory.beyond)
    memory.beyond = beyond


def _with_assigned(world: World, facts: GroupFacts) -> dict[str, TopicCommits]:
    """The group's commits on topics that exist, and assigned topics on which it has none yet."""
    committed = world.commits.topics[facts.name]
    known = {topic: commits for topic, commits in committed.items() if topic in world.rows}
    known.update({topic: NOTHING for topic in facts.assigned if topic in world.rows and topic not in known})
    return dict(sorted(known.items()))


def _row(
    world: World, memory: Memory, facts: GroupFacts, topic: str, found: TopicCommits, before: TopicHistory | None
) -> tuple[Row, TopicHistory]:
    ends = world.ends.topics[topic]
    labels = memory.group_labels(facts.name, topic, found.partitions)
    share_lags = world.commits.share_lags.get((facts.name, topic))
    if facts.type == "share" and share_lags is None:
        share_lags = (None,) * len(found.partitions)
    assigned = facts.assigned.get(topic, ())
    commits = Commits(topic, labels, found.partitions, found.offsets, found.errors.keys(), assigned, share_lags)
    raw = raw_lags(commits, ends)
    identity = topic_id_text(world.rows[topic].topic_id)
    history = advance(before, identity, found.partitions, found.offsets, raw.lost, world.went_back[topic])
    return Row(commits, ends, raw, Counters(history.lost, history.rewinds)), history


def wanted(world: World, settings: SettingsReader, exact: bool, recall: Recall) -> Iterable[Wanted]:
    """The positions whose age is to be found: the first unread offset of each partition with lag, of every group.

    Rows that `recall` still knows as a whole get their stamps at once.
    """
    asked: dict[str, set[tuple[int, int]]] = {}
    for group, row in ((name, row) for name, rows in world.by_group.items() for row in rows):
        places = unread(row.commits, row.ends, row.raw)
        if not places:
            continue
        topic = row.commits.topic
        if not row.raw.states:
            row.stamps = recall(group, topic, world.rows[topic].topic_id, places, row.ends)
        if row.stamps is None:
            seen = asked.setdefault(topic, set())
            fresh = [place for place in places if place not in seen] if seen else places
            seen.update(fresh)
            yield from wanted_of(world, settings, topic, fresh, exact)


def wanted_of(
    world: World, settings: SettingsReader, topic: str, places: Iterable[tuple[int, int]], exact: bool
) -> Iterable[Wanted]:
    """Positions (partition, offset) of one topic with all that is known of them; none whose ends are unknown."""
    row, ends = world.rows[topic], world.ends.topics[topic]
    known = settings.of(row)
    remote = known is not None and known.remote_storage
    may_read = exact and row.may_read is not False
    leaders = {part.partition: part.leader for part in row.partitions}
    topic_id, starts, stables, highs = row.topic_id, ends.starts, ends.stables, ends.highs
    for partition, offset in places:
        start, stable, high = starts[partition], stables[partition], highs[partition]
        if start is None or high is None:
            continue
        local = not remote or offset >= world.ends.local_starts.get((topic, partition), high + 1)
        stable = high if stable is None else stable
        leader = leaders[partition]
        yield Wanted(topic, topic_id, partition, offset, start, high, stable, leader, may_read and local, remote)


def open_transactions(world: World, found: Iterable[Topic]) -> list[tuple[str, list[tuple[int, int]]]]:
    """(topic, [(partition, last stable offset)]) where the last stable offset is behind."""
    behind = []
    for topic in found:
        ends = world.ends.topics[topic.name]
        if ends.stables == ends.highs:
            continue
        places = [
            (number, stable)
            for number, (stable, high) in enumerate(zip(ends.stables, ends.highs, strict=True))
            if stable is not None and high is not None and stable < high
        ]
        if places:
            behind.append((topic.name, places))
    return behind


def groups(
    world: World, memory: Memory, times: Mapping[Position, RecordTime] | None, now: float, after: float
) -> list[Group]:
    """All groups that could be read, by name. `after`: seconds until one without members counts as abandoned."""
    built = []
    for name, facts in sorted(world.groups.items()):
        rows = tuple(_group_topic(row, times, now) for row in world.by_group.get(name, ()))
        history = memory.histories.get(name)
        abandoned = history is not None and is_abandoned(history, facts.members, now, after)
        members, idle = facts.members, facts.members_idle
        built.append(Group(printable(name), facts.type, facts.state, members, idle, rows, abandoned))
    return built


def _group_topic(row: Row, times: Mapping[Position, RecordTime] | None, now: float) -> GroupTopic:
    found = TIMELESS if times is None else times
    return group_topic(row.commits, row.ends, row.raw, found, now, row.counters, row.stamps)
