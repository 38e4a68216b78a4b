"""Committed offsets of every group, asked of its coordinator in bulk. Read before the ends: that order is a promise."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from exporter.clients.kafka import codes, rights
from exporter.clients.kafka.brokers import Brokers, Failure, Request
from exporter.clients.kafka.groups import GroupFacts, batched
from exporter.clients.kafka.messages import offset_fetch, share_offsets
from exporter.clients.kafka.messages.offset_fetch import TopicCommits
from exporter.clients.kafka.messages.share_offsets import SharePartition
from exporter.clients.kafka.recorder import Recorder
from exporter.clients.kafka.wire import MalformedError, printable
from exporter.model.common import Kind

GROUPS_A_REQUEST = 100
NARROW = 0.5  # below this share of admitted partitions, naming them is cheaper than getting all


@dataclass(slots=True)
class CommitTable:
    """Commits by group and topic. `share_lags` has the broker's own lags of share groups, beside the partitions.

    `failed` are the groups that could not be read, `again` those of them that are worth one more try.
    """

    topics: dict[str, dict[str, TopicCommits]] = field(default_factory=dict)
    share_lags: dict[tuple[str, str], tuple[int | None, ...]] = field(default_factory=dict)
    failed: dict[str, Failure] = field(default_factory=dict)
    again: set[str] = field(default_factory=set)

    def fail(self, group: str, failure: Failure, retry: bool = False) -> None:
        """Note that the group could not be read."""
        self.failed[group] = failure
        if retry:
            self.again.add(group)


class CommitReader:
    """Asks all coordinators at once."""

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers

    def read(
        self,
        groups: Iterable[GroupFacts],
        wanted: Mapping[str, Collection[int]] | None,
        table: CommitTable,
        run: Recorder,
    ) -> None:
        """Fill the table. `wanted` limits the answer to these partitions; None asks for every commit."""
        requests: dict[int, list[Request]] = {}
        asked: dict[int, list[tuple[int | None, Sequence[GroupFacts]]]] = {}
        for coordinator, share, batch in _batches(groups):
            version = self._version(coordinator, share)
            if version is None:
                self._refuse(coordinator, share, batch, table, run)
                continue
            names = [group.name for group in batch]
            for name in names:
                table.failed.pop(name, None)
                table.again.discard(name)
            request = share_offsets.request(version, names) if share else offset_fetch.request(names, wanted)
            requests.setdefault(coordinator, []).append(request)
            asked.setdefault(coordinator, []).append((version if share else None, batch))
        for coordinator, answer in self._brokers.ask(requests).items():
            for at, (share_version, batch) in enumerate(asked[coordinator]):
                if isinstance(answer, Failure):
                    for group in batch:
                        table.fail(group.name, answer)
                else:
                    self._take(answer[at], share_version, batch, table)

    def _version(self, coordinator: int, share: bool) -> int | None:
        if share:
            return self._brokers.version(
                coordinator, share_offsets.API_KEY, share_offsets.LOWEST, share_offsets.HIGHEST
            )
        return self._brokers.version(coordinator, offset_fetch.API_KEY, offset_fetch.VERSION, offset_fetch.VERSION)

    def _refuse(
        self, coordinator: int, share: bool, batch: Sequence[GroupFacts], table: CommitTable, run: Recorder
    ) -> None:
        """No request can be made: the coordinator is down, or too old."""
        failure = self._brokers.failure(coordinator)
        if failure is None:
            what = "offsets of share groups (DescribeShareGroupOffsets)" if share else "OffsetFetch v8 (Kafka 3.0)"
            failure = self._brokers.unsupported(coordinator, what)
            run.problem(f"{'share groups' if share else 'groups'} of broker {coordinator}", failure)
        for group in batch:
            table.fail(group.name, failure)

    def _take(self, data: bytes, share_version: int | None, batch: Sequence[GroupFacts], table: CommitTable) -> None:
        try:
            if share_version is None:
                self._take_commits(data, table)
            else:
                self._take_share(data, share_version, table)
        except MalformedError as error:
            for group in batch:
                table.fail(group.name, Failure(Kind.PROTOCOL, f"the answer can't be read: {error}"))

    def _take_commits(self, data: bytes, table: CommitTable) -> None:
        for answer in offset_fetch.decode(data):
            if answer.error:
                _take_error(table, answer.group, answer.error, None)
            else:
                table.topics[answer.group] = answer.topics

    def _take_share(self, data: bytes, version: int, table: CommitTable) -> None:
        for answer in share_offsets.decode(data, version):
            if answer.error:
                _take_error(table, answer.group, answer.error, answer.message)
                continue
            table.topics[answer.group] = {topic: _started(rows) for topic, rows in answer.topics.items()}
            for topic, rows in answer.topics.items():
                lags = tuple(row.lag if row.lag >= 0 else None for row in rows if _has_start(row))
                table.share_lags[answer.group, topic] = lags


def _take_error(table: CommitTable, group: str, code: int, message: str | None) -> None:
    if code == codes.GROUP_ID_NOT_FOUND:
        table.topics[group] = {}  # gone since it was listed, or it never committed
    else:
        table.fail(group, codes.failure(code, message), code in codes.RETRYABLE)


def _has_start(row: SharePartition) -> bool:
    return row.error == codes.NONE and row.start >= 0


def _started(rows: Sequence[SharePartition]) -> TopicCommits:
    begun = [row for row in rows if _has_start(row)]
    errors = {row.partition: row.error for row in rows if row.error}
    return TopicCommits(tuple(row.partition for row in begun), tuple(row.start for row in begun), errors)


def _batches(groups: Iterable[GroupFacts]) -> Iterator[tuple[int, bool, Sequence[GroupFacts]]]:
    sorted_out: dict[tuple[int, bool], list[GroupFacts]] = {}
    for group in groups:
        sorted_out.setdefault((group.coordinator, group.type == "share"), []).append(group)
    for (coordinator, share), members in sorted_out.items():
        for batch in batched(members, GROUPS_A_REQUEST):
            yield coordinator, share, batch


def report(table: CommitTable, run: Recorder) -> None:
    """One problem for each group that could not be read, but one for all that failed for the same reason."""
    reasons: dict[Failure, list[str]] = {}
    for group, failure in table.failed.items():
        reasons.setdefault(failure, []).append(printable(group))
    for failure, groups in reasons.items():
        if failure.kind is not Kind.UNSUPPORTED:
            denied = failure == codes.failure(codes.GROUP_DENIED)
            told = rights.DESCRIBE_GROUP.failure(sorted(groups)) if denied else failure
            run.problem(rights.item("group", sorted(groups)), told)
    run.skip("unreadable_group", len(table.failed))
    for group, topics in table.topics.items():
        for topic, commits in topics.items():
            for code in sorted(set(commits.errors.values())):
                hit = sorted(partition for partition, found in commits.errors.items() if found == code)
                item = f"group {printable(group)}, topic {topic}, {len(hit)} partitions such as {hit[0]}"
                run.problem(item, codes.failure(code))
