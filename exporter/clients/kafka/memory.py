"""What a reader remembers between polls: label tuples, histories of groups, where groups were last seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from operator import lt
from typing import Any

from exporter.clients.kafka.groups import GroupFacts
from exporter.clients.kafka.wire import printable
from exporter.model.kafka import GroupPartitionLabels, PartitionLabels
from exporter.model.kafka_history import GroupHistory, from_state, to_state

Highs = list[int | None]


class Memory:
    """Everything here is forgotten with the group or topic that it is about, so that it does not grow with uptime."""

    def __init__(self) -> None:
        self.histories: dict[str, GroupHistory] = {}
        self.contradictions: Counter[str] = Counter()
        self.beyond: set[tuple[str, str, int]] = set()  # group, topic, partition whose commit is beyond the end
        self.coordinators: dict[str, int] = {}
        self._topic_labels: dict[str, tuple[tuple[int, ...], tuple[PartitionLabels, ...]]] = {}
        self._group_labels: dict[tuple[str, str], tuple[tuple[int, ...], tuple[GroupPartitionLabels, ...]]] = {}
        self._highs: dict[tuple[str, bytes], Highs] = {}

    def topic_labels(self, topic: str, partitions: tuple[int, ...]) -> tuple[PartitionLabels, ...]:
        """(topic, partition) for each partition; the same objects in every poll."""
        kept = self._topic_labels.get(topic)
        if kept is None or kept[0] != partitions:
            kept = self._topic_labels[topic] = (partitions, tuple((topic, str(number)) for number in partitions))
        return kept[1]

    def group_labels(self, group: str, topic: str, partitions: tuple[int, ...]) -> tuple[GroupPartitionLabels, ...]:
        """(group, topic, partition) for each partition; the same objects in every poll."""
        kept = self._group_labels.get((group, topic))
        if kept is None or kept[0] != partitions:
            name = printable(group)
            labels = tuple((name, topic, str(number)) for number in partitions)
            kept = self._group_labels[group, topic] = (partitions, labels)
        return kept[1]

    def went_back(self, topic: str, topic_id: bytes, highs: Highs) -> Collection[int]:
        """Partitions whose log end is lower than in the last poll: truncated, or made anew without a new id."""
        before = self._highs.get((topic, topic_id))
        self._highs[topic, topic_id] = [now if now is not None else was for now, was in _pairs(highs, before)]
        if before is None or before == highs or len(before) > len(highs):
            return ()
        return [at for at, (now, was) in enumerate(_pairs(highs, before)) if now is not None and now < (was or 0)]

    def forget_topics(self, kept: Mapping[str, bytes]) -> None:
        """Only these topics (name to id) are still there."""
        self._highs = {key: highs for key, highs in self._highs.items() if kept.get(key[0]) == key[1]}
        self._topic_labels = {name: row for name, row in self._topic_labels.items() if name in kept}
        self._group_labels = {key: row for key, row in self._group_labels.items() if key[1] in kept}

    def forget_groups(self, kept: Collection[str]) -> None:
        """Only these groups are still there."""
        self.histories = {name: row for name, row in self.histories.items() if name in kept}
        self.coordinators = {name: broker for name, broker in self.coordinators.items() if name in kept}
        self._group_labels = {key: row for key, row in self._group_labels.items() if key[0] in kept}
        self.beyond = {key for key in self.beyond if key[0] in kept}

    def remember_coordinators(self, groups: Iterable[GroupFacts]) -> None:
        """Where groups were found."""
        self.coordinators.update({group.name: group.coordinator for group in groups})

    def withheld(self, found: Collection[str], silent: Collection[int], leaders: tuple[int, ...]) -> list[str]:
        """Groups seen before that may still be there: their coordinator can't be asked, has just moved, or is none.

        `leaders` has the leader of each partition of the offsets topic; it tells where a group's coordinator is now.
        While one moves, neither the old nor the new one lists its groups: the next poll says whether they are gone.
        """
        unknown = [group for group in self.coordinators if group not in found and self._unknown(group, silent, leaders)]
        if leaders:
            self.coordinators |= {group: leaders[coordinator_partition(group, len(leaders))] for group in unknown}
        return unknown

    def _unknown(self, group: str, silent: Collection[int], leaders: tuple[int, ...]) -> bool:
        if leaders:
            coordinator = leaders[coordinator_partition(group, len(leaders))]
            return coordinator < 0 or coordinator in silent or coordinator != self.coordinators[group]
        return self.coordinators[group] in silent

    def state(self) -> dict[str, Any]:
        """The histories as JSON values."""
        return {"groups": to_state(self.histories), "coordinators": dict(self.coordinators)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take back what `state` gave; nothing when it does not fit."""
        try:
            histories = from_state(state["groups"])
            coordinators = {str(group): int(broker) for group, broker in state["coordinators"].items()}
        except (KeyError, TypeError, ValueError, AttributeError):
            return
        self.histories, self.coordinators = histories, coordinators


def _pairs(highs: Highs, before: Highs | None) -> Iterable[tuple[int | None, int | None]]:
    earlier = before or []
    return zip(highs, earlier + [None] * (len(highs) - len(earlier)), strict=False)


def coordinator_partition(group: str, count: int) -> int:
    """The partition of the offsets topic that holds a group: Java's String.hashCode, made positive."""
    hashed = 0
    units = printable(group).encode("utf-16-be")
    for at in range(0, len(units), 2):
        hashed = (31 * hashed + (units[at] << 8 | units[at + 1])) & 0xFFFFFFFF
    signed = hashed - 2**32 if hashed >= 2**31 else hashed
    return (0 if signed == -(2**31) else abs(signed)) % count


def rises(lower: Iterable[int | None], upper: Iterable[int | None]) -> int:
    """How many of `upper` are below their `lower`, where both are known."""
    pairs = [(low, high) for low, high in zip(lower, upper, strict=True) if low is not None and high is not None]
    return sum(1 for low, high in pairs if lt(high, low))
