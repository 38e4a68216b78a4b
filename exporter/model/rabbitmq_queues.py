"""Puts together what is known of each queue: from the listing, the leaders' own counts, the history, the topology."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from exporter.model.common import DeadLetterQueue, DeadLetterSource
from exporter.model.rabbitmq import CLASSIC, QUORUM, STREAM, WORK, Age, Counters, Queue, QueueName, Replicas
from exporter.model.rabbitmq_age import History, age_of
from exporter.model.rabbitmq_counters import Grown
from exporter.model.rabbitmq_dead_letters import DROPPED, HELD, DeadLetters, Settings
from exporter.model.rabbitmq_listing import Listed
from exporter.model.rabbitmq_memory import QueueMemory, total_depth
from exporter.model.rabbitmq_node_pages import Depth

OLDEST_PLAUSIBLE = 946_684_800  # 2000-01-01: an older head timestamp is no time of publishing
CLOCKS = 3.0  # seconds by which a node's clock and ours may differ without notice
NOTHING = Depth()


@dataclass(frozen=True, slots=True)
class Facts:
    """What one poll read. `fresh`: whether the listing is of this poll, and not remembered for its names and types."""

    queues: Mapping[QueueName, Listed]
    fresh: bool
    depths: Mapping[QueueName, Depth]
    entries: Mapping[QueueName, float]  # when the oldest message came in, by the broker's word; unix seconds
    running: Collection[str] | None  # nodes that are up; None: unknown
    found: DeadLetters
    at: float
    interval: float


@dataclass(frozen=True, slots=True)
class Assembled:
    """All queues of a snapshot, and what was withheld by reason."""

    queues: tuple[Queue, ...]
    dead_letter_queues: tuple[DeadLetterQueue, ...]
    dead_letter_sources: tuple[DeadLetterSource, ...]
    skipped: Mapping[str, int] = field(default_factory=dict)


def assemble(facts: Facts, memory: QueueMemory, before: Collection[QueueName]) -> Assembled:
    """`before`: the queues that were known before this poll. Takes the poll into the memory."""
    skipped: Counter[str] = Counter()
    queues = []
    dead = []
    dead_letter_queues = facts.found.queues
    for name, listed in facts.queues.items():
        depth = facts.depths.get(name, NOTHING)
        settings = facts.found.settings.get(name)
        memory.observe(listed, depth, settings, facts.at, facts.fresh)
        estimate = _estimate(listed, settings, facts, memory)
        queue = _queue(listed, depth, estimate, facts, memory)
        skipped.update(_withheld(queue, facts.fresh))
        queues.append(queue)
        if name in dead_letter_queues:
            arrivals = memory.count_arrivals(name, depth, before, facts.at)
            dead.append(_dead_letter_queue(queue, depth, settings, estimate, arrivals))
    return Assembled(tuple(queues), tuple(dead), tuple(_sources(facts.found)), dict(skipped))


def _queue(
    listed: Listed, depth: Depth, estimate: tuple[float, float] | None, facts: Facts, memory: QueueMemory
) -> Queue:
    stream = listed.type == STREAM
    grown = memory.grown.get(listed.id, Grown())
    return Queue(
        id=listed.id,
        type=listed.type,
        role=memory.roles.get(listed.id, WORK),
        ready=None if stream else depth.ready,
        unacknowledged=None if stream else depth.unacknowledged,
        retained=total_depth(depth) if stream else None,
        consumers=depth.consumers if depth.consumers is not None or not facts.fresh else listed.consumers,
        consumer_capacity=listed.capacity if facts.fresh else None,
        memory_bytes=listed.memory if facts.fresh else None,
        counters=grown.shown(listed.counters) if facts.fresh else Counters(),
        replicas=_replicas(listed, facts),
        age=_age(listed, depth, estimate, facts, memory),
    )


def _replicas(listed: Listed, facts: Facts) -> Replicas | None:
    """A leader is there when its node runs and a majority of the members is online: 3.10 says `running` regardless."""
    if listed.type not in {QUORUM, STREAM}:
        return None
    if not facts.fresh or listed.members is None:
        return Replicas()
    online = None if listed.online is None else len(listed.online)
    available = None
    if online is not None and facts.running is not None:
        available = listed.leader in facts.running and online > len(listed.members) // 2
    return Replicas(len(listed.members), online, available, listed.held)


def _estimate(
    listed: Listed, settings: Settings | None, facts: Facts, memory: QueueMemory
) -> tuple[float, float] | None:
    """Age and bound from the history; None when the queue is empty or history does not reach back."""
    history = memory.histories.get(listed.id)
    if history is None or history.after is None or settings is None or listed.id not in facts.depths:
        return None
    limited = settings.ttl_seconds is not None or settings.bounded
    counted = listed.id not in facts.found.targets
    estimate = history.estimate(arrivals_counted=counted, departures_by_consumers=not limited)
    return None if estimate is None else age_of(estimate, facts.at, facts.interval)


def _age(
    listed: Listed, depth: Depth, estimate: tuple[float, float] | None, facts: Facts, memory: QueueMemory
) -> Age | None:
    total = total_depth(depth)
    if total is None or listed.type not in {CLASSIC, QUORUM}:
        return None
    if total == 0:
        return Age(0.0, "empty")
    if (entered := facts.entries.get(listed.id)) is not None and not _has_left(entered, memory.histories[listed.id]):
        return Age(max(facts.at - entered, 0.0), "broker")
    if facts.fresh and listed.type == CLASSIC and is_real(listed.head_timestamp, facts.at):
        assert listed.head_timestamp is not None
        return Age(facts.at - listed.head_timestamp, "head_timestamp")
    return None if estimate is None else Age(estimate[0], "history", estimate[1])


def _has_left(entered: float, history: History) -> bool:
    """Whether the message that came in then is surely gone: the broker was asked some seconds ago."""
    return history.after is not None and entered < history.after - CLOCKS


def is_real(timestamp: int | None, now: float) -> bool:
    """Whether a head timestamp can be a time of publishing: not unknown, not 0, not milliseconds, not in the future."""
    return timestamp is not None and OLDEST_PLAUSIBLE <= timestamp <= now


def _withheld(queue: Queue, fresh: bool) -> list[str]:
    if queue.type == STREAM:
        return [] if queue.retained is not None else ["no_statistics" if fresh else "leader_not_answering"]
    if queue.ready is None:
        return ["no_statistics" if fresh else "leader_not_answering"]
    return ["age_unknown"] if queue.age is None and queue.type in {CLASSIC, QUORUM} else []


def _dead_letter_queue(
    queue: Queue, depth: Depth, settings: Settings | None, estimate: tuple[float, float] | None, arrivals: int | None
) -> DeadLetterQueue:
    total = total_depth(depth)
    return DeadLetterQueue(
        name=queue.id.name,
        vhost=queue.id.vhost,
        depth=total,
        unhandled=total,
        oldest_age_seconds=None if queue.age is None else queue.age.seconds,
        time_to_deletion_seconds=_time_to_deletion(queue, settings, estimate),
        arrivals=arrivals,
    )


def _time_to_deletion(queue: Queue, settings: Settings | None, estimate: tuple[float, float] | None) -> float | None:
    """The TTL counts from the arrival here, so the head timestamp, which is the first publisher's, says nothing.

    None when a message is past its TTL: a consumer holds it, or it is not at the head, and it will not be deleted now.
    """
    if settings is None or settings.ttl_seconds is None or queue.age is None or queue.age.method == "empty":
        return None
    age = queue.age.seconds if queue.age.method == "broker" else None if estimate is None else estimate[0]
    left = None if age is None else settings.ttl_seconds - age
    return left if left is not None and left >= 0 else None


def _sources(found: DeadLetters) -> list[DeadLetterSource]:
    """What feeds each dead-letter queue, whose dead letters go nowhere, and whose come back to itself.

    Retry queues send work back, so they stand nowhere here.
    """
    dead = found.queues
    return [
        DeadLetterSource(
            dlq="" if feed.target is None else feed.target.name,
            vhost=feed.source.vhost,
            source=feed.source.name,
            via=feed.via,
        )
        for feed in found.feeds
        if feed.via in {DROPPED, HELD} or feed.target in dead or feed.target == feed.source
    ]
