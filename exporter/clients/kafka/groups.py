"""The groups of a cluster: listed on every broker, then described by the coordinator that listed them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from exporter.clients.kafka import codes, rights
from exporter.clients.kafka.brokers import Brokers, Failure, Request
from exporter.clients.kafka.messages import group_describe, group_list
from exporter.clients.kafka.messages.group_describe import Assigned, DescribedGroup
from exporter.clients.kafka.messages.group_list import ListedGroup
from exporter.clients.kafka.recorder import Recorder
from exporter.clients.kafka.wire import MalformedError, printable
from exporter.config.model import Filter

DESCRIBE = {
    "classic": group_describe.CLASSIC,
    "consumer": group_describe.CONSUMER,
    "share": group_describe.SHARE,
    "streams": group_describe.STREAMS,
}
GROUPS_A_REQUEST = 200
REBALANCING = frozenset({"preparing_rebalance", "completing_rebalance", "assigning", "reconciling", "not_ready"})
GONE = frozenset({"", "dead"})


@dataclass(slots=True)
class GroupFacts:
    """One group: what the list said, then what its description said. `members` is None when it could not be read."""

    name: str  # as on the wire; printable() is for pages
    type: str
    state: str
    coordinator: int
    typed: bool = True  # False: the broker does not say which protocol; a description by a wrong one finds nothing
    members: int | None = None
    members_idle: int | None = None
    assigned: Assigned = field(default_factory=dict)


@dataclass(slots=True)
class GroupTable:
    """The admitted groups by name, and the brokers that could not be asked: theirs are not gone but unknown.

    `others` has what further brokers said of a group that one has listed already, until `settle` has chosen.
    """

    groups: dict[str, GroupFacts] = field(default_factory=dict)
    silent: dict[int, Failure] = field(default_factory=dict)
    others: dict[str, list[GroupFacts]] = field(default_factory=dict)

    def settle(self, coordinator: Callable[[str], int | None]) -> int:
        """Of a group that several brokers list, believe its coordinator; how many groups there were."""
        count = len(self.others)
        for group, rows in self.others.items():
            leader = coordinator(group)
            for row in rows:
                if row.coordinator == leader:
                    self.groups[group] = row
        self.others = {}
        return count


def snake(state: str) -> str:
    """`PreparingRebalance` as `preparing_rebalance`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", state).replace(" ", "_").lower()


class Denied:
    """Groups that we may not describe, by error: told in one line each, as there may be thousands."""

    def __init__(self) -> None:
        self.groups: dict[int, list[str]] = {codes.GROUP_DENIED: [], codes.TOPIC_DENIED: []}

    def report(self, run: Recorder) -> None:
        """Tell them."""
        by_right = ((codes.GROUP_DENIED, rights.DESCRIBE_GROUP), (codes.TOPIC_DENIED, rights.DESCRIBE_ASSIGNED))
        for code, right in by_right:
            names = sorted(self.groups[code])
            if names:
                failure = right.failure(names if code == codes.GROUP_DENIED else ())
                run.problem(rights.item("group", names), failure)


class GroupReader:
    """Lists and describes."""

    def __init__(self, brokers: Brokers, admitted: Filter) -> None:
        self._brokers = brokers
        self._admitted = admitted

    def list(self, brokers: Iterable[int], table: GroupTable, run: Recorder) -> None:
        """Add the groups of these brokers to the table."""
        requests: dict[int, list[Request]] = {}
        versions = {}
        brokers = list(brokers)
        self._brokers.connect(brokers)
        for broker in brokers:
            version = self._brokers.version(broker, group_list.API_KEY, group_list.LOWEST, group_list.HIGHEST)
            if version is None:
                failure = self._brokers.failure(broker) or self._brokers.unsupported(broker, "ListGroups v3")
                table.silent[broker] = failure
            else:
                requests[broker], versions[broker] = [group_list.request(version)], version
        for broker, answer in self._brokers.ask(requests).items():
            if isinstance(answer, Failure):
                table.silent[broker] = answer
            else:
                self._take_list(broker, answer[0], versions[broker], table, run)

    def _take_list(self, broker: int, data: bytes, version: int, table: GroupTable, run: Recorder) -> None:
        try:
            code, listed = group_list.decode(data, version)
        except MalformedError as error:
            run.malformed(f"groups of broker {broker}", error)
            return
        if code:
            table.silent[broker] = codes.failure(code)
        else:
            table.silent.pop(broker, None)
        for row in listed:
            if row.group in table.groups:
                table.others.setdefault(row.group, []).append(_facts(row, broker))
            elif self._admitted.admits(row.group):
                table.groups[row.group] = _facts(row, broker)

    def describe(self, table: GroupTable, run: Recorder) -> None:
        """Fill in members, states and assignments. A group that is gone meanwhile leaves the table."""
        requests: dict[int, list[Request]] = {}
        asked: dict[int, list[tuple[int, int, Sequence[GroupFacts]]]] = {}
        for coordinator, kind, groups in self._batches(table):
            version = self._brokers.version(coordinator, DESCRIBE[kind], *group_describe.VERSIONS[DESCRIBE[kind]])
            if version is None:
                failure = self._brokers.failure(coordinator) or self._brokers.unsupported(
                    coordinator, f"the description of {kind} groups"
                )
                run.problem(f"{kind} groups of broker {coordinator}", failure)
                continue
            names = [group.name for group in groups]
            requests.setdefault(coordinator, []).append(group_describe.request(DESCRIBE[kind], version, names))
            asked.setdefault(coordinator, []).append((DESCRIBE[kind], version, groups))
        denied = Denied()
        for coordinator, answer in self._brokers.ask(requests).items():
            if isinstance(answer, Failure):
                run.problem(f"groups of broker {coordinator}", answer)
                continue
            for (api_key, version, groups), data in zip(asked[coordinator], answer, strict=True):
                self._take_descriptions(api_key, data, version, groups, table, run, denied)
        denied.report(run)

    def _batches(self, table: GroupTable) -> Iterator[tuple[int, str, Sequence[GroupFacts]]]:
        sorted_out: dict[tuple[int, str], list[GroupFacts]] = {}
        for group in table.groups.values():
            kind = group.type if group.type in DESCRIBE else "classic"
            sorted_out.setdefault((group.coordinator, kind), []).append(group)
        for (coordinator, kind), groups in sorted_out.items():
            for batch in batched(groups, GROUPS_A_REQUEST):
                yield coordinator, kind, batch

    def _take_descriptions(
        self,
        api_key: int,
        data: bytes,
        version: int,
        asked: Sequence[GroupFacts],
        table: GroupTable,
        run: Recorder,
        denied: Denied,
    ) -> None:
        try:
            described = group_describe.decode(api_key, data, version)
        except MalformedError as error:
            run.malformed(f"description of {len(asked)} groups such as {printable(asked[0].name)}", error)
            return
        for group in described:
            if group.error == codes.GROUP_ID_NOT_FOUND or (not group.error and snake(group.state) in GONE):
                if group.group in table.groups and table.groups[group.group].typed:
                    del table.groups[group.group]
            elif group.error in denied.groups:
                denied.groups[group.error].append(printable(group.group))
            elif group.error:
                run.problem(f"group {printable(group.group)}", codes.failure(group.error, group.message))
            elif group.group in table.groups:
                _fill(table.groups[group.group], group)


def _facts(row: ListedGroup, broker: int) -> GroupFacts:
    return GroupFacts(row.group, row.type.lower() or "classic", snake(row.state), broker, bool(row.type))


def _fill(facts: GroupFacts, described: DescribedGroup) -> None:
    facts.state = snake(described.state)
    facts.members = described.members
    facts.members_idle = None if facts.state in REBALANCING else described.members - described.busy
    facts.assigned = described.assigned


def batched(items: Sequence[GroupFacts], size: int) -> Iterator[Sequence[GroupFacts]]:
    """Pieces of at most `size`."""
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch
