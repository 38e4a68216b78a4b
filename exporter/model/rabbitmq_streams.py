"""How far consumers of streams are behind, from what they stored or from what the broker says of connected ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from exporter.model.rabbitmq import QueueName, StreamConsumer
from exporter.model.rabbitmq_listing import text, whole


class Tracked(NamedTuple):
    """One stream: its last offset on each replica that answered, and the stored offset of each reference name."""

    stream: QueueName
    ends: tuple[int, ...]
    stored: Mapping[str, int]


def committed(ends: Iterable[int], members: int) -> int | None:
    """The last offset that a majority of `members` holds, which is what consumers may read."""
    known = sorted(ends, reverse=True)
    majority = members // 2 + 1
    return known[majority - 1] if len(known) >= majority else None


def from_tracking(tracked: Iterable[Tracked], members: Mapping[QueueName, int]) -> list[StreamConsumer]:
    """Lag of every stored reference. `members`: replicas of each stream; one that is not there is unknown."""
    found = []
    for stream in tracked:
        end = committed(stream.ends, members[stream.stream]) if stream.stream in members else None
        if end is not None:
            found += [StreamConsumer(stream.stream, name, end - at) for name, at in stream.stored.items() if at <= end]
    return found


def has_begun(item: Mapping[str, Any]) -> bool:
    """Whether a consumer has got anything, or has nothing to get.

    Of one that waits for what will be written 3.10 says that it is behind by the whole stream.
    """
    return item.get("consumed") != 0 or item.get("offset_lag") == 0


def from_consumers(items: Iterable[Any]) -> list[StreamConsumer]:
    """Lag of connected consumers that have a name, by `/api/stream/consumers`; of several of one name the largest."""
    found: dict[tuple[QueueName, str], int] = {}
    for item in items:
        if not isinstance(item, dict):
            continue
        properties, queue = item.get("properties"), item.get("queue")
        name = text(properties.get("name")) if isinstance(properties, dict) else None
        lag = whole(item.get("offset_lag"))
        if name is not None and lag is not None and isinstance(queue, dict) and has_begun(item):
            key = (QueueName(str(queue.get("vhost")), str(queue.get("name"))), name)
            found[key] = max(lag, found.get(key, 0))
    return [StreamConsumer(stream, name, lag) for (stream, name), lag in found.items()]
