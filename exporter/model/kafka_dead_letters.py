"""Which topics hold dead letters, and how many of them nobody has dealt with."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from exporter.model.common import DeadLetterQueue, DeadLetterSource
from exporter.model.kafka import Group, GroupTopic, Topic
from exporter.model.kafka_lag import oldest_age
from exporter.model.record_time import Position, RecordTime

VHOST = ""  # Kafka has none
PREFIX, SUFFIX = re.compile(r"(?i)^dlq\."), re.compile(r"(?i)[._-](dlq|dlt|dead-?letters?|dead)$")


@dataclass(frozen=True, slots=True)
class Rules:
    """The configuration: patterns match whole names; handlers maps a topic to its group, sources to what feeds it."""

    patterns: Sequence[str] = ()
    topics: Sequence[str] = ()
    handlers: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)


def sources(topics: Sequence[Topic], share_groups: Mapping[str, str], rules: Rules) -> tuple[DeadLetterSource, ...]:
    """Every dead-letter topic that exists, once for each thing that makes it one.

    `share_groups` maps a share group to the topic its configuration names (KIP-1191). An empty source is not known.
    """
    names = {topic.name for topic in topics}
    found: dict[tuple[str, str, str], None] = {}
    for topic in topics:
        for via in _reasons(topic, rules):
            found[topic.name, rules.sources.get(topic.name) or _guess(topic.name, names), via] = None
    for group, dlq in sorted(share_groups.items()):
        if dlq in names:
            found[dlq, group, "share_group"] = None
    return tuple(DeadLetterSource(dlq, VHOST, source, via) for dlq, source, via in sorted(found))


def _reasons(topic: Topic, rules: Rules) -> list[str]:
    reasons = []
    if topic.name in rules.topics or topic.name in rules.sources or topic.name in rules.handlers:
        reasons.append("config")
    if topic.settings is not None and topic.settings.takes_dead_letters:
        reasons.append("topic_config")
    if any(re.fullmatch(pattern, topic.name) for pattern in rules.patterns):
        reasons.append("pattern")
    return reasons


def _guess(name: str, names: set[str]) -> str:
    """The topic that the name speaks of, if there is one."""
    for candidate in (SUFFIX.sub("", name), PREFIX.sub("", name)):
        if candidate != name and candidate in names:
            return candidate
    return ""


def unread_from_start(topic: Topic, committed: Iterable[Collection[int]]) -> dict[int, int]:
    """Partition to log start, where some handler may have read nothing: ages are wanted for these offsets.

    `committed` has, for each group with a commit on the topic, the partitions of its commits.
    """
    sets = [set(partitions) for partitions in committed]
    common = set.intersection(*sets) if sets else set()
    return {
        partition: start
        for partition, start, high in zip(topic.partitions, topic.log_starts, topic.high_watermarks, strict=True)
        if start is not None and high is not None and high > start and partition not in common
    }


def queue(
    topic: Topic,
    groups: Sequence[Group],
    handler: str | None,
    some_withheld: bool,
    times: Mapping[Position, RecordTime],
    now: float,
) -> DeadLetterQueue:
    """One dead-letter topic. `some_withheld`: groups that could not be read, so that "nobody reads it" is not known."""
    retained = _retained(topic)
    candidates = [_handled(topic, row, retained, times, now) for row in _handlers(topic.name, groups, handler)]
    if not candidates and not some_withheld:
        candidates = [_handled(topic, None, retained, times, now)]
    worst = max(candidates, key=lambda candidate: candidate.messages, default=_Unhandled(-1, None))
    known = bool(retained) or not topic.partitions
    return DeadLetterQueue(
        topic.name,
        VHOST,
        sum(retained.values()) if known else None,
        worst.messages if known and worst.messages >= 0 else None,
        worst.age if known else None,
        _time_to_deletion(topic, worst),
        None if None in topic.high_watermarks else sum(high or 0 for high in topic.high_watermarks),
    )


@dataclass(frozen=True, slots=True)
class _Unhandled:
    messages: int
    age: float | None


def _retained(topic: Topic) -> dict[int, int]:
    rows = zip(topic.partitions, topic.log_starts, topic.high_watermarks, strict=True)
    known = ((partition, start, high) for partition, start, high in rows if start is not None and high is not None)
    return {partition: high - start for partition, start, high in known if start <= high}


def _handlers(topic: str, groups: Sequence[Group], handler: str | None) -> list[GroupTopic | None]:
    """The rows of the groups that deal with this topic; None for a configured one that has no commit on it."""
    if handler is not None:
        named = [group for group in groups if group.name == handler]
        return [next((row for row in group.topics if row.topic == topic), None) for group in named]
    return [
        row for group in groups if not group.abandoned for row in group.topics if row.topic == topic and row.partitions
    ]


def _handled(
    topic: Topic, row: GroupTopic | None, retained: Mapping[int, int], times: Mapping[Position, RecordTime], now: float
) -> _Unhandled:
    """What one group has left, partition by partition; where it has no commit, all that is retained."""
    lags = dict(zip(row.partitions, row.lags, strict=True)) if row else {}
    messages = sum((lags[p] or 0) if p in lags else kept for p, kept in retained.items())
    untouched = {p: kept for p, kept in retained.items() if kept and p not in lags}
    ages = [_age_at_start(topic, p, times, now) for p in untouched]
    if row is not None and any(row.lags):
        ages.append(oldest_age(row))
    if any(age is None for age in ages):
        return _Unhandled(messages, max((age for age in ages if age is not None), default=None))
    return _Unhandled(messages, max((age for age in ages if age is not None), default=0.0))


def _age_at_start(topic: Topic, partition: int, times: Mapping[Position, RecordTime], now: float) -> float | None:
    start = topic.log_starts[topic.partitions.index(partition)]
    time = times.get((topic.name, partition, start)) if start is not None else None
    if time is None:
        return None
    return 0.0 if time.timestamp is None else max(now - time.timestamp, 0.0)


def _time_to_deletion(topic: Topic, unhandled: _Unhandled) -> float | None:
    """Negative once it is due: Kafka deletes whole segments, so a dead letter can outlive its time."""
    settings = topic.settings
    if settings is None or settings.retention_seconds is None or "delete" not in (settings.cleanup_policy or ""):
        return None
    return None if unhandled.messages <= 0 or unhandled.age is None else settings.retention_seconds - unhandled.age
