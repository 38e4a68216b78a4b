"""Log start, last stable offset and high watermark of every partition, asked of its leader in bulk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from exporter.clients.kafka import codes
from exporter.clients.kafka.brokers import Brokers, Failure, Request
from exporter.clients.kafka.messages import list_offsets
from exporter.clients.kafka.messages.list_offsets import End
from exporter.clients.kafka.messages.metadata import TopicRow
from exporter.clients.kafka.recorder import Recorder
from exporter.clients.kafka.topics import Layout
from exporter.clients.kafka.wire import MalformedError
from exporter.model.common import Kind
from exporter.model.kafka_lag import TopicEnds

ORDER = (End.LOG_START, End.LAST_STABLE, End.HIGH_WATERMARK)  # each can only have grown since the one before
PartitionId = tuple[str, int]


class EndTable:
    """Ends by topic. `failed` has the partitions that could not be read."""

    def __init__(self, rows: Mapping[str, TopicRow]) -> None:
        self.topics = {
            name: TopicEnds.unknown(row.partitions[-1].partition + 1 if row.partitions else 0)
            for name, row in rows.items()
        }
        self.local_starts: dict[PartitionId, int] = {}
        self.failed: dict[PartitionId, Failure] = {}
        self.again: set[PartitionId] = set()

    def close(self) -> None:
        """Take every topic's ends as final."""
        for ends in self.topics.values():
            ends.close()

    def column(self, topic: str, end: End) -> list[int | None]:
        """The list of the topic that holds this end."""
        ends = self.topics[topic]
        return {End.LOG_START: ends.starts, End.LAST_STABLE: ends.stables, End.HIGH_WATERMARK: ends.highs}[end]


class EndReader:
    """Asks all leaders at once, each for everything that it leads."""

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers
        self._encoded: tuple[Layout, dict[tuple[int, int, End], Request]] = ({}, {})

    def _request(self, layout: Layout, leader: int, version: int, end: End) -> Request:
        """The request for everything that a broker leads; made once for as long as nothing moves."""
        if self._encoded[0] is not layout:
            self._encoded = (layout, {})
        made, key = self._encoded[1], (leader, version, end)
        if key not in made:
            made[key] = list_offsets.request(version, layout[leader], end)
        return made[key]

    def read(self, layout: Layout, remote: Iterable[str], table: EndTable) -> None:
        """Fill the table. For topics with remote storage also where the local log starts, if the broker can say."""
        requests: dict[int, list[Request]] = {}
        asked: dict[int, list[End]] = {}
        self._brokers.connect(layout)
        for leader, topics in layout.items():
            version = self._brokers.version(leader, list_offsets.API_KEY, list_offsets.LOWEST, list_offsets.HIGHEST)
            if version is None:
                failure = self._brokers.failure(leader) or self._brokers.unsupported(
                    leader, "ListOffsets v6 (Kafka 2.8)"
                )
                _fail(topics, failure, table)
                continue
            requests[leader] = [self._request(layout, leader, version, end) for end in ORDER]
            asked[leader] = list(ORDER)
            tiered = {name: topics[name] for name in remote if name in topics}
            if tiered and version >= list_offsets.LOCAL_SINCE:
                requests[leader].append(list_offsets.request(version, tiered, End.LOCAL_START))
                asked[leader].append(End.LOCAL_START)
        for leader, answer in self._brokers.ask(requests).items():
            if isinstance(answer, Failure):
                _fail(layout[leader], answer, table)
                continue
            for end, data in zip(asked[leader], answer, strict=True):
                self._take(layout[leader], end, data, table)

    def _take(self, topics: Mapping[str, tuple[int, ...]], end: End, data: bytes, table: EndTable) -> None:
        try:
            answer = list_offsets.decode(data)
        except MalformedError as error:
            _fail(topics, Failure(Kind.PROTOCOL, f"the answer can't be read: {error}"), table)
            return
        for topic, (partitions, errors, offsets) in answer.items():
            if topic not in topics:
                continue
            if end is End.LOCAL_START:
                rows = zip(partitions, errors, offsets, strict=True)
                table.local_starts.update({(topic, p): offset for p, code, offset in rows if not code and offset >= 0})
                continue
            column = table.column(topic, end)
            if _all_good(partitions, errors, offsets, len(column)):
                for partition, offset in zip(partitions, offsets, strict=True):
                    column[partition] = offset
            else:
                _take_one_by_one(topic, column, zip(partitions, errors, offsets, strict=True), table)


def _all_good(partitions: Sequence[int], errors: Sequence[int], offsets: Sequence[int], count: int) -> bool:
    return (
        not any(errors)
        and min(offsets, default=0) >= 0
        and 0 <= min(partitions, default=0) <= max(partitions, default=0) < count
    )


def _take_one_by_one(
    topic: str, column: list[int | None], rows: Iterable[tuple[int, int, int]], table: EndTable
) -> None:
    for partition, code, offset in rows:
        if not 0 <= partition < len(column):
            continue
        if code:
            table.failed[topic, partition] = codes.failure(code)
            if code in codes.RETRYABLE:
                table.again.add((topic, partition))
        elif offset >= 0:
            column[partition] = offset


def _fail(topics: Mapping[str, tuple[int, ...]], failure: Failure, table: EndTable) -> None:
    table.failed.update({(topic, partition): failure for topic, parts in topics.items() for partition in parts})


def again(table: EndTable, layout: Layout) -> Layout:
    """The part of the layout that is worth one more try; these partitions are then not failed any more."""
    retry: Layout = {}
    for leader, topics in layout.items():
        for topic, partitions in topics.items():
            chosen = tuple(partition for partition in partitions if (topic, partition) in table.again)
            if chosen:
                retry.setdefault(leader, {})[topic] = chosen
                for partition in chosen:
                    table.failed.pop((topic, partition), None)
    table.again.clear()
    return retry


def report(table: EndTable, offline: Mapping[str, tuple[int, ...]], run: Recorder) -> None:
    """One problem for each topic and reason."""
    no_leader = codes.failure(codes.LEADER_NOT_AVAILABLE)
    reasons: dict[tuple[str, Failure], list[int]] = {
        (topic, no_leader): list(partitions) for topic, partitions in offline.items()
    }
    for (topic, partition), failure in table.failed.items():
        reasons.setdefault((topic, failure), []).append(partition)
    for (topic, failure), partitions in sorted(reasons.items(), key=lambda row: row[0][0]):
        first = ", ".join(map(str, sorted(partitions)[:5])) + (", ..." if len(partitions) > 5 else "")
        run.problem(f"topic {topic}, {len(partitions)} partitions ({first})", failure)
    run.skip("unreadable_partition", sum(map(len, reasons.values())))
