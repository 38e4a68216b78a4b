"""Queue depths: each leader's own count where its node answered, the listing's where that is safe."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from exporter.model.rabbitmq import QueueName
from exporter.model.rabbitmq_listing import Listed
from exporter.model.rabbitmq_node_pages import Depth

TWO_LEADERS = "queue_counted_by_two_nodes"


@dataclass(frozen=True, slots=True)
class Depths:
    """What is known of each queue's depth. `contradictions`: queues that two nodes count differently."""

    depths: Mapping[QueueName, Depth] = field(default_factory=dict)
    contradictions: int = 0


def listed_depth(queue: Listed) -> Depth:
    """The listing's own numbers. After a change of leader it may add up what two nodes count."""
    return Depth(queue.ready, queue.unacknowledged, queue.messages, queue.consumers)


def merge_depths(queues: Iterable[Listed], fresh: bool, counted: Mapping[str, Mapping[QueueName, Depth]]) -> Depths:
    """`counted`: node -> the queues that it says it leads. `fresh`: whether the listing is of this poll.

    A former leader's node goes on showing its last count for up to two minutes. With a fresh listing the leader's word
    counts; without one, a queue that two nodes count differently has no depth.
    """
    by_queue: dict[QueueName, dict[str, Depth]] = {}
    for node, depths in counted.items():
        for queue, depth in depths.items():
            by_queue.setdefault(queue, {})[node] = depth
    merged: dict[QueueName, Depth] = {}
    contradictions = 0
    for listed in queues:
        said = by_queue.get(listed.id, {})
        contradicting = len(set(said.values())) > 1
        contradictions += contradicting
        chosen = _one(listed, said, fresh, contradicting)
        if chosen is not None:
            merged[listed.id] = chosen
    return Depths(merged, contradictions)


def _one(listed: Listed, said: Mapping[str, Depth], fresh: bool, contradicting: bool) -> Depth | None:
    if listed.leader is not None and listed.leader in said and (fresh or not contradicting):
        return said[listed.leader]
    if fresh:
        return listed_depth(listed)
    return None if contradicting or not said else next(iter(said.values()))
