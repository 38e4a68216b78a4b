"""What snapshots of every kind of cluster share: problems, collector runs, disks, dead letters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from exporter.model.objectives import Objectives

STALE_AFTER = 3  # intervals after which what was read is withheld


class Kind(StrEnum):
    """Why something could not be read; the value is the `kind` label of `mq_exporter_collector_errors_total`."""

    AUTHENTICATION = "authentication"
    AUTHORIZATION = "authorization"
    PROTOCOL = "protocol"
    TIMEOUT = "timeout"
    TLS = "tls"
    UNREACHABLE = "unreachable"
    UNSUPPORTED = "unsupported"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that could not be read. `item` names it (`group orders`, `broker 12`, `queue / work`).

    `detail` is one line for a tired person: what was tried, what came back, what to do. It never holds a secret.
    """

    kind: Kind
    item: str
    detail: str


@dataclass(frozen=True, slots=True)
class CollectorRun:
    """How one collector of one cluster fared when it last ran.

    `skipped` counts what was withheld on purpose, by reason (`abandoned_group`, `unreadable_group`, ...).
    `success` is False when anything that should have been read was not; a broker without a feature is `unsupported`,
    which is counted and is not a failure.
    """

    name: str
    success: bool
    started_at: float  # unix seconds
    duration_seconds: float
    interval_seconds: float
    problems: tuple[Problem, ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Disk:
    """Space on one directory of one node. None is unknown, never 0; an offline directory is alarm True, free None."""

    node: str
    dir: str
    free_bytes: int | None
    free_limit_bytes: int | None
    alarm: bool | None


@dataclass(frozen=True, slots=True)
class DeadLetterSource:
    """What feeds a dead-letter queue, and how that is known; `via="dropped"` with an empty queue name means lost."""

    dlq: str
    vhost: str
    source: str
    via: str


@dataclass(frozen=True, slots=True)
class DeadLetterQueue:
    """One queue or topic that holds dead letters. None is unknown. `arrivals` only ever grows."""

    name: str
    vhost: str
    depth: int | None
    unhandled: int | None
    oldest_age_seconds: float | None
    time_to_deletion_seconds: float | None
    arrivals: int | None


@dataclass(frozen=True, slots=True)
class Expected:
    """What the configuration says should be there; None and empty are "nothing was said"."""

    brokers: int | None = None
    nodes: int | None = None
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterSnapshot:
    """One cluster at one moment, as far as it could be read. Kafka and RabbitMQ snapshots add their own facts."""

    cluster: str
    system: str  # "kafka" or "rabbitmq"
    taken_at: float  # unix seconds
    interval_seconds: float
    runs: tuple[CollectorRun, ...] = ()
    endpoints: Mapping[str, bool] = field(default_factory=dict)  # HOST:PORT or URL without user -> answered
    contradictions: Mapping[str, int] = field(default_factory=dict)  # what contradicted -> times since start
    disks: tuple[Disk, ...] = ()
    dead_letter_queues: tuple[DeadLetterQueue, ...] = ()
    dead_letter_sources: tuple[DeadLetterSource, ...] = ()
    clock_offsets: Mapping[str, float] = field(default_factory=dict)  # node -> its clock minus ours, seconds
    expected: Expected = Expected()
    objectives: Objectives = field(default_factory=Objectives)
