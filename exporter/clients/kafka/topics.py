"""The topics that the configuration admits, and which broker leads which partition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from exporter.clients.kafka import codes
from exporter.clients.kafka.address import Address
from exporter.clients.kafka.brokers import Brokers, Failure
from exporter.clients.kafka.messages import metadata
from exporter.clients.kafka.messages.metadata import NO_LEADER, Metadata, TopicRow
from exporter.clients.kafka.recorder import Recorder
from exporter.clients.kafka.wire import MalformedError
from exporter.config.model import Filter

OFFSETS_TOPIC = "__consumer_offsets"
Layout = dict[int, dict[str, tuple[int, ...]]]  # leader -> topic -> partitions


@dataclass(frozen=True, slots=True)
class Topics:
    """One answer to Metadata after the filter. `share` is the share of all partitions that the filter admits."""

    brokers: Mapping[int, Address] = field(default_factory=dict)
    rows: Mapping[str, TopicRow] = field(default_factory=dict)
    layout: Layout = field(default_factory=dict)
    offline: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    broken: Mapping[str, int] = field(default_factory=dict)  # topic -> error code
    coordinators: tuple[int, ...] = ()  # leader of each partition of __consumer_offsets, -1 for none
    share: float = 1.0
    visible: frozenset[str] = frozenset()  # topics of the cluster that we may see, admitted or not


class TopicReader:
    """Asks for metadata; an answer that did not change since the last one is not worked through again."""

    def __init__(self, brokers: Brokers, admitted: Filter) -> None:
        self._brokers = brokers
        self._admitted = admitted
        self._last: tuple[int, bytes, Topics] = (0, b"", Topics())

    def read(self, run: Recorder) -> Topics | None:
        """The topics, None when no broker answers. Tells `Brokers` where the brokers are."""
        answer = self._brokers.ask_first(metadata.API_KEY, metadata.LOWEST, metadata.HIGHEST, metadata.request)
        if isinstance(answer, Failure):
            run.problem("metadata", answer)
            self._brokers.close()  # the next poll asks each anew what it knows: a garbled answer to that would stay
            return None
        if answer != self._last[:2]:
            try:
                self._last = (*answer, self._work_through(metadata.decode(answer[1], answer[0])))
            except MalformedError as error:
                run.malformed("metadata", error)
                return None
        topics = self._last[2]
        self._brokers.learn(topics.brokers)
        for name, code in topics.broken.items():
            run.problem(f"topic {name}", codes.failure(code))
        return topics

    def _work_through(self, answer: Metadata) -> Topics:
        rows = {row.name: row for row in answer.topics if self._admitted.admits(row.name)}
        broken = {row.name: row.error for row in rows.values() if row.error}
        for name in broken:
            del rows[name]
        offline = {
            name: tuple(part.partition for part in row.partitions if part.leader == NO_LEADER)
            for name, row in rows.items()
        }
        visible = frozenset(row.name for row in answer.topics)
        everything = sum(len(row.partitions) for row in answer.topics)
        share = sum(len(row.partitions) for row in rows.values()) / everything if everything else 1.0
        offline = {name: partitions for name, partitions in offline.items() if partitions}
        coordinators = next((_leaders(row) for row in answer.topics if row.name == OFFSETS_TOPIC), ())
        return Topics(answer.brokers, rows, layout(rows), offline, broken, coordinators, share, visible)


def _leaders(row: TopicRow) -> tuple[int, ...]:
    return tuple(part.leader for part in row.partitions)


def layout(rows: Mapping[str, TopicRow]) -> Layout:
    """The partitions of each leader."""
    lists: dict[int, dict[str, list[int]]] = {}
    for name, row in rows.items():
        for part in row.partitions:
            if part.leader != NO_LEADER:
                lists.setdefault(part.leader, {}).setdefault(name, []).append(part.partition)
    return {leader: {name: tuple(parts) for name, parts in topics.items()} for leader, topics in lists.items()}
