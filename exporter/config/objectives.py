"""The shape of `objectives:`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from exporter.config.section import Duration, Pattern, Section

Count = Annotated[int, Field(ge=0)]
AtLeastOne = Annotated[int, Field(ge=1)]


class Objective(Section):
    """What every entry may say. Of those that match, the first one that says it wins, for each key by itself."""

    owner: str | None = None
    """Who is asked about it: the label `owner`."""
    tier: int | None = Field(default=None, ge=1, le=3)
    """How urgent it is, the label `tier`: 1 wakes somebody, 2 is for the day, 3 is for when there is time."""


class LagObjective(Objective):
    """How far a group may be behind on a topic."""

    group: Pattern = ".*"
    """Regular expression; the group's whole name must match it."""
    topic: Pattern = ".*"
    """Regular expression; the topic's whole name must match it."""
    lag: Duration | None = None
    """How old the oldest unread record may be."""
    floor: Count | None = None
    """Lag, in offsets, below which nothing is said."""


class QueueObjective(Objective):
    """What may stand in a queue."""

    vhost: Pattern = ".*"
    """Regular expression; the virtual host's whole name must match it."""
    queue: Pattern = ".*"
    """Regular expression; the queue's whole name must match it."""
    backlog: Count | None = None
    """Ready messages that it may have."""
    unacknowledged: Count | None = None
    """Unacknowledged messages that it may have."""


class TopicDeadLetterObjective(Objective):
    """How many unhandled dead letters somebody has to know about."""

    topic: Pattern = ".*"
    """Regular expression; the whole name of the dead-letter topic must match it."""
    unhandled: AtLeastOne | None = None
    """1: from the first one on."""


class QueueDeadLetterObjective(Objective):
    """How many unhandled dead letters somebody has to know about."""

    vhost: Pattern = ".*"
    """Regular expression; the virtual host's whole name must match it."""
    queue: Pattern = ".*"
    """Regular expression; the whole name of the dead-letter queue must match it."""
    unhandled: AtLeastOne | None = None
    """1: from the first one on."""


class KafkaObjectives(Section):
    """What is meant to be on this cluster. Without an entry: 5 minutes, 100 offsets, 1 dead letter, tier 2."""

    groups: tuple[LagObjective, ...] = ()
    """How far groups may be behind, by pattern."""
    dead_letters: tuple[TopicDeadLetterObjective, ...] = ()
    """How many dead letters somebody has to know about, by pattern."""


class RabbitMQObjectives(Section):
    """What is meant to be on this cluster. Without an entry: 10,000 ready, 1,000 unacknowledged, 1 dead letter."""

    queues: tuple[QueueObjective, ...] = ()
    """What may stand in queues, by pattern."""
    dead_letters: tuple[QueueDeadLetterObjective, ...] = ()
    """How many dead letters somebody has to know about, by pattern."""
