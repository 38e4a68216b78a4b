"""What only two polls together can tell: offsets lost to retention, commits that went back, groups left alone."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from operator import lt
from typing import Any

Lost = tuple[int, int, int]  # partition, committed offset, log start beyond it


@dataclass(frozen=True, slots=True)
class TopicHistory:
    """One group on one topic id, as last seen.

    `accounted` is, by partition, the offset below which nothing that is lost may be counted again: it was counted, or
    the group had once read it.
    """

    topic_id: str
    partitions: tuple[int, ...]
    offsets: tuple[int, ...]
    lost: int = 0
    rewinds: int = 0
    accounted: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GroupHistory:
    """One group. `changed_at` is when a commit last changed, or when the group was first seen (unix seconds)."""

    changed_at: float
    topics: Mapping[str, TopicHistory] = field(default_factory=dict)


def advance(
    before: TopicHistory | None,
    topic_id: str,
    partitions: tuple[int, ...],
    offsets: tuple[int, ...],
    lost: Iterable[Lost] = (),
    went_back: Collection[int] = (),
) -> TopicHistory:
    """The history after one more poll. A new topic id starts afresh; so do partitions whose log end went back."""
    if before is None or before.topic_id != topic_id:
        before = TopicHistory(topic_id, (), ())
    accounted = {p: offset for p, offset in before.accounted.items() if p not in went_back} if before.accounted else {}
    rewinds = before.rewinds
    if before.offsets and (offsets != before.offsets or partitions != before.partitions):
        for partition, earlier in _rewound(before, partitions, offsets):
            if partition not in went_back:
                rewinds += 1
                accounted[partition] = max(earlier, accounted.get(partition, 0))
    total = before.lost
    for partition, committed, start in lost:
        total += max(start - max(committed, accounted.get(partition, committed)), 0)
        accounted[partition] = max(start, accounted.get(partition, 0))
    if accounted:
        now = dict(zip(partitions, offsets, strict=True))
        accounted = {p: offset for p, offset in accounted.items() if now.get(p, offset) < offset}
    return TopicHistory(topic_id, partitions, offsets, total, rewinds, accounted)


def _rewound(before: TopicHistory, partitions: tuple[int, ...], offsets: tuple[int, ...]) -> list[tuple[int, int]]:
    """(partition, offset before) of each commit that is lower than it was."""
    if partitions == before.partitions:
        if not any(map(lt, offsets, before.offsets)):
            return []
        rows = zip(partitions, before.offsets, offsets, strict=True)
        return [(partition, was) for partition, was, now in rows if now < was]
    earlier = dict(zip(before.partitions, before.offsets, strict=True))
    pairs = zip(partitions, offsets, strict=True)
    return [(partition, earlier[partition]) for partition, now in pairs if now < earlier.get(partition, now)]


def advance_group(before: GroupHistory | None, topics: Mapping[str, TopicHistory], now: float) -> GroupHistory:
    """The group's history with these topics; any change of a commit makes it young again."""
    if before is None:
        return GroupHistory(now, topics)
    changed = before.topics.keys() != topics.keys() or any(
        topics[name].offsets != earlier.offsets or topics[name].partitions != earlier.partitions
        for name, earlier in before.topics.items()
    )
    return GroupHistory(now if changed else before.changed_at, topics)


def is_abandoned(history: GroupHistory, members: int | None, now: float, after: float) -> bool:
    """Whether nobody has been seen at work for so long. Unknown membership counts as membership."""
    return members == 0 and now - history.changed_at >= after


def to_state(groups: Mapping[str, GroupHistory]) -> dict[str, Any]:
    """The history as JSON values."""
    return {
        name: {
            "changed_at": group.changed_at,
            "topics": {
                topic: {
                    "topic_id": row.topic_id,
                    "partitions": list(row.partitions),
                    "offsets": list(row.offsets),
                    "lost": row.lost,
                    "rewinds": row.rewinds,
                    "accounted": {str(partition): offset for partition, offset in row.accounted.items()},
                }
                for topic, row in group.topics.items()
            },
        }
        for name, group in groups.items()
    }


def from_state(state: Mapping[str, Any]) -> dict[str, GroupHistory]:
    """The history that `to_state` gave. Raises KeyError, TypeError, ValueError or AttributeError for anything else."""
    return {str(name): _group_from(group) for name, group in state.items()}


def _group_from(state: Mapping[str, Any]) -> GroupHistory:
    topics = {}
    for topic, row in state["topics"].items():
        partitions, offsets = tuple(map(int, row["partitions"])), tuple(map(int, row["offsets"]))
        if len(partitions) != len(offsets):
            raise ValueError("partitions and offsets are not side by side")
        accounted = {int(partition): int(offset) for partition, offset in row["accounted"].items()}
        counters = int(row["lost"]), int(row["rewinds"])
        topics[str(topic)] = TopicHistory(str(row["topic_id"]), partitions, offsets, *counters, accounted)
    return GroupHistory(float(state["changed_at"]), topics)
