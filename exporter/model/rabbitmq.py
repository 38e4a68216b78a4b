"""One RabbitMQ cluster at one moment: queues, nodes, connections, streams. None is unknown, never 0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from exporter.model.common import ClusterSnapshot

CLASSIC, QUORUM, STREAM = "classic", "quorum", "stream"
WORK, DLQ, RETRY = "work", "dlq", "retry"
STATES_ALWAYS = ("running", "blocking", "blocked", "flow")  # connection states that are counted even when none is in it


class QueueName(NamedTuple):
    """A queue's identity in its cluster."""

    vhost: str
    name: str


@dataclass(frozen=True, slots=True)
class Counters:
    """What a queue has counted. Each only grows: when the broker's own falls, counting goes on from where it was."""

    published: int | None = None
    delivered: int | None = None  # by consumers and gets, redeliveries included
    acknowledged: int | None = None
    redelivered: int | None = None


@dataclass(frozen=True, slots=True)
class Age:
    """Age of the oldest message, ready or unacknowledged. `error_bound` None is exact."""

    seconds: float
    method: str  # empty, head_timestamp, broker or history
    error_bound: float | None = None


@dataclass(frozen=True, slots=True)
class Replicas:
    """The members of a quorum queue or stream."""

    total: int | None = None
    online: int | None = None
    leader_available: bool | None = None
    held_dead_letters: int | None = None


@dataclass(frozen=True, slots=True)
class Queue:
    """One queue or stream. A stream has `retained` in place of `ready` and `unacknowledged`."""

    id: QueueName
    type: str
    role: str
    ready: int | None = None
    unacknowledged: int | None = None
    retained: int | None = None
    consumers: int | None = None
    consumer_capacity: float | None = None
    memory_bytes: int | None = None
    counters: Counters = Counters()
    replicas: Replicas | None = None  # None: the type has no replicas
    age: Age | None = None


@dataclass(frozen=True, slots=True)
class Node:
    """One node that is, was or should be a member. `up` None: nobody could tell."""

    name: str
    up: bool | None
    memory_used_bytes: int | None = None
    memory_limit_bytes: int | None = None
    memory_alarm: bool | None = None
    file_descriptors_used: int | None = None
    file_descriptors_limit: int | None = None
    partitioned: bool | None = None


@dataclass(frozen=True, slots=True)
class StreamConsumer:
    """Records between a stream's end and what a consumer stored, by its reference name."""

    stream: QueueName
    consumer: str
    lag: int


@dataclass(frozen=True, slots=True)
class RabbitSnapshot(ClusterSnapshot):
    """One RabbitMQ cluster at one moment, as far as it could be read."""

    version: str | None = None
    queues: tuple[Queue, ...] = ()
    nodes: tuple[Node, ...] = ()
    connections: Mapping[tuple[str, str], int] = field(default_factory=dict)  # (node, state) -> count
    stream_consumers: tuple[StreamConsumer, ...] = ()
    dead_lettered: Mapping[tuple[str, str, str], int] = field(default_factory=dict)  # (node, reason, strategy) -> count
    unroutable: Mapping[tuple[str, str], int] = field(default_factory=dict)  # (node, outcome) -> count
