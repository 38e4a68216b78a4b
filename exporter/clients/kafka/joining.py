"""From what one poll has read to the frozen snapshot: ages, open transactions, dead letters, disks."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from exporter.clients import objectives
from exporter.clients.kafka import assembly, rights
from exporter.clients.kafka.parts import Parts
from exporter.clients.kafka.reading import Reading
from exporter.clients.kafka.recorder import Recorder
from exporter.model import kafka_dead_letters as dead_letters
from exporter.model.common import DeadLetterQueue, DeadLetterSource, Expected
from exporter.model.kafka import Group, KafkaSnapshot, Topic
from exporter.model.kafka_disks import disks
from exporter.model.record_time import Position, RecordTime, Wanted

Times = Mapping[Position, RecordTime]
Places = list[tuple[str, list[tuple[int, int]]]]  # topic, [(partition, offset)]


def join(reading: Reading) -> KafkaSnapshot:
    """The snapshot of a poll that has read everything it could."""
    parts, topics = reading.parts, reading.topics
    if topics is None:
        return _frozen(reading, time.time())
    world = assembly.World(topics.rows, reading.ends, reading.commits, reading.groups.groups)
    parts.memory.forget_topics({name: row.topic_id for name, row in topics.rows.items()})
    found = assembly.topics(world, parts.memory, parts.settings)
    assembly.lags(world, parts.memory, time.time())
    feeds = dead_letters.sources(found, parts.settings.share_group_dead_letters(), _rules(parts))
    times = _ages(reading, world, found, feeds)
    now = time.time()
    groups = assembly.groups(world, parts.memory, times, now, parts.config.abandoned_after)
    reading.skip("commits", "abandoned_group", sum(group.abandoned for group in groups))
    found = [_with_open_transactions(topic, times, now) for topic in found]
    letters = _dead_letter_queues(reading, found, groups, feeds, times, now)
    return _frozen(reading, now, found, groups, letters, feeds)


def _rules(parts: Parts) -> dead_letters.Rules:
    given = parts.config.dead_letters
    return dead_letters.Rules(given.patterns, given.topics, given.handlers, given.sources)


def _ages(
    reading: Reading, world: assembly.World, found: Sequence[Topic], feeds: Sequence[DeadLetterSource]
) -> dict[Position, RecordTime]:
    """Record times of everything unread, of dead letters nobody read, and of the oldest open transactions."""
    parts = reading.parts
    if parts.config.ages == "off":
        return {}
    exact = parts.config.ages == "exact"
    with reading.recorder("ages") as run:
        wanted: list[Wanted] = list(assembly.wanted(world, parts.settings, exact, parts.times.recall))
        for topic, places in [*_unhandled(world, found, feeds), *assembly.open_transactions(world, found)]:
            wanted += assembly.wanted_of(world, parts.settings, topic, places, exact)
        times = parts.times.find(wanted, parts.brokers)
    if exact:
        _tell_denied(world, run)
    run.problems += parts.times.problems
    for reason, count in parts.times.skipped.items():
        run.skip(reason, count)
    reading.runs.append(run.run())
    return times


def _tell_denied(world: assembly.World, run: Recorder) -> None:
    """One problem for all topics with lag whose records we may not read: their ages are estimates."""
    behind = {row.commits.topic for rows in world.by_group.values() for row in rows if any(row.raw.lags)}
    denied = sorted(topic for topic in behind if world.rows[topic].may_read is False)
    if denied:
        run.problem(rights.item("topic", denied), rights.READ_TOPIC.failure(denied))


def _unhandled(world: assembly.World, found: Sequence[Topic], feeds: Sequence[DeadLetterSource]) -> Places:
    """The log starts of dead-letter partitions that some group, or every group, has not begun to read."""
    names = {feed.dlq for feed in feeds}
    committed: dict[str, list[tuple[int, ...]]] = {name: [] for name in names}
    for row in (row for rows in world.by_group.values() for row in rows):
        if row.commits.topic in names:
            committed[row.commits.topic].append(row.commits.partitions)
    starts = {t.name: dead_letters.unread_from_start(t, committed[t.name]) for t in found if t.name in names}
    return [(name, list(places.items())) for name, places in starts.items() if places]


def _with_open_transactions(topic: Topic, times: Times, now: float) -> Topic:
    """The topic with the seconds since the oldest open transaction of each partition wrote its first record."""
    if topic.last_stables == topic.high_watermarks:
        return topic
    since = {}
    for partition, stable, high in zip(topic.partitions, topic.last_stables, topic.high_watermarks, strict=True):
        if stable is not None and high is not None and stable < high:
            began = times.get((topic.name, partition, stable))
            if began is not None and began.timestamp is not None and began.timestamp <= now:
                since[partition] = now - began.timestamp
    return replace(topic, open_transactions=since)


def _dead_letter_queues(
    reading: Reading,
    found: Sequence[Topic],
    groups: Sequence[Group],
    feeds: Sequence[DeadLetterSource],
    times: Times,
    now: float,
) -> tuple[DeadLetterQueue, ...]:
    names = {feed.dlq for feed in feeds}
    handlers = reading.parts.config.dead_letters.handlers
    withheld = bool(reading.commits.failed or reading.groups.silent)
    return tuple(
        dead_letters.queue(topic, groups, handlers.get(topic.name), withheld, times, now)
        for topic in found
        if topic.name in names
    )


def _frozen(
    reading: Reading,
    now: float,
    found: Sequence[Topic] = (),
    groups: Sequence[Group] = (),
    letters: tuple[DeadLetterQueue, ...] = (),
    feeds: tuple[DeadLetterSource, ...] = (),
) -> KafkaSnapshot:
    parts, config = reading.parts, reading.parts.config
    directories = parts.directories.directories()
    return KafkaSnapshot(
        cluster=config.cluster,
        system="kafka",
        taken_at=now,
        interval_seconds=config.interval,
        runs=tuple(reading.runs),
        endpoints=parts.brokers.endpoints(),
        contradictions=dict(parts.memory.contradictions),
        disks=disks(directories, config.disk_free_limit),
        dead_letter_queues=letters,
        dead_letter_sources=feeds,
        clock_offsets=parts.quorum.clock_offsets(),
        expected=Expected(config.expected_brokers, None, config.expected_groups),
        objectives=objectives.of_kafka(config.objectives),
        granularity=config.granularity,
        brokers=reading.members,
        log_dirs=directories,
        quorum=parts.quorum.quorum(),
        topics=tuple(found),
        groups=tuple(groups),
    )
