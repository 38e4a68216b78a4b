"""The requests of one poll, step by step; each step is a collector and keeps its own account."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace

from exporter.clients.kafka import commits, ends, rights
from exporter.clients.kafka.commits import NARROW, CommitTable
from exporter.clients.kafka.ends import EndTable
from exporter.clients.kafka.groups import GroupTable
from exporter.clients.kafka.memory import coordinator_partition
from exporter.clients.kafka.messages.metadata import TopicRow
from exporter.clients.kafka.parts import Parts
from exporter.clients.kafka.recorder import Recorder
from exporter.clients.kafka.topics import Layout, Topics
from exporter.model.common import CollectorRun

AFTER_TOPICS = ("brokers", "groups", "commits", "offsets", "ages")


class Reading:
    """What one poll has read so far. `topics` is None when no broker answered."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.runs: list[CollectorRun] = []
        self.topics: Topics | None = None
        self.members: dict[int, bool] = {}
        self.groups = GroupTable()
        self.commits = CommitTable()
        self.ends = EndTable({})
        self._listing = self.recorder("groups")
        self._topic_run = self.recorder("topics")
        self._listed: set[int] = set()

    def recorder(self, name: str) -> Recorder:
        """The account of a collector that runs in every poll."""
        return Recorder(name, self.parts.config.interval)

    def begin(self) -> bool:
        """Find out who answers. False, with an account for every collector, when no broker does."""
        self.parts.brokers.begin()
        with self._listing as run:
            # all that hang are found here, for one timeout together
            self._list(self.parts.brokers.known, run)
        run = self._topic_run
        with run:
            self.topics = self.parts.topics.read(run)
        with self.recorder("brokers") as membership:
            if self.topics is not None:
                self.members = self.parts.membership.read(membership)
        if self.topics is None:
            self.runs.append(run.run())
            self.runs += [replace(self.runs[0], name=name, duration_seconds=0.0) for name in AFTER_TOPICS]
            return False
        self.runs.append(membership.run())
        return True

    def _list(self, brokers: Iterable[int], run: Recorder) -> None:
        asked = set(brokers)
        self._listed |= asked
        self.parts.groups.list(sorted(asked), self.groups, run)

    def _list_again(self, known: Iterable[str], run: Recorder) -> None:
        """Ask every broker again for groups that nobody lists now: a coordinator may have moved between two answers."""
        fresh = GroupTable()
        self.parts.groups.list(sorted(self._listed), fresh, run)
        fresh.settle(self._coordinator)
        self.groups.silent |= fresh.silent
        self.groups.groups |= {
            name: fresh.groups[name] for name in known if name in fresh.groups and name not in self.groups.groups
        }

    def read_groups(self) -> None:
        """Groups of the brokers that are new in this poll, then descriptions of all."""
        memory, table = self.parts.memory, self.groups
        with self._listing as run:
            self._list(set(self.parts.brokers.known) - self._listed, run)
            memory.contradictions["group_on_two_brokers"] += table.settle(self._coordinator)
            if memory.coordinators.keys() - table.groups.keys():
                self._list_again(memory.coordinators.keys(), run)
            self.parts.groups.describe(table, run)
            # without that right a list holds only the groups with a right of their own
            if not self.parts.hidden.groups(table.groups, run) and not self.parts.membership.may_describe:
                run.problem(rights.CLUSTER, rights.DESCRIBE_CLUSTER.failure())
        for broker, failure in sorted(table.silent.items()):
            run.problem(f"groups of broker {broker}", failure)
        withheld = memory.withheld(table.groups, table.silent, self._topics().coordinators)
        run.skip("unreachable_group", len(withheld))
        memory.forget_groups({*table.groups, *withheld})
        memory.remember_coordinators(table.groups.values())
        self.runs.append(run.run())

    def read_slow(self) -> None:
        """Collectors with a pace of their own; most polls only hand out what they found before."""
        share_groups = [group.name for group in self.groups.groups.values() if group.type == "share"]
        settings = self.parts.settings.read(self._topics().rows, share_groups)
        directories = self.parts.directories.read(set(self.members))
        self.runs += [run for run in (settings, directories, self.parts.quorum.read()) if run is not None]
        with self._topic_run as run:
            visible = self._topics().visible
            self.parts.hidden.topics(visible, self.parts.directories.topics(), run)
            if not visible and self.parts.membership.restricted and not run.problems:
                run.problem("topics", rights.DESCRIBE_TOPICS.failure())
        self.runs.append(run.run())

    def read_commits(self) -> None:
        """Committed offsets of every group; once more for those whose coordinator has moved."""
        topics, table, reader = self._topics(), self.commits, self.parts.commits
        wanted = None
        if topics.share < NARROW:
            wanted = {name: [part.partition for part in row.partitions] for name, row in topics.rows.items()}
        with self.recorder("commits") as run:
            reader.read(self.groups.groups.values(), wanted, table, run)
            if table.again:
                self._find_again(run)
                again = [self.groups.groups[name] for name in table.again if name in self.groups.groups]
                reader.read(again, wanted, table, run)
        commits.report(table, run)
        self.runs.append(run.run())

    def _find_again(self, run: Recorder) -> None:
        """Ask every broker which groups it coordinates now."""
        fresh = GroupTable()
        self.parts.groups.list(self.parts.brokers.known, fresh, run)
        fresh.settle(self._coordinator)
        for name in self.commits.again & fresh.groups.keys():
            self.groups.groups[name].coordinator = fresh.groups[name].coordinator

    def read_ends(self) -> None:
        """Ends of every partition; once more for those whose leader has moved."""
        topics, reader = self._topics(), self.parts.ends
        self.ends = table = EndTable(topics.rows)
        remote = [name for name, row in topics.rows.items() if self.parts.settings.is_remote(row)]
        before = time.time()
        with self.recorder("offsets") as run:
            reader.read(topics.layout, remote, table)
            if table.again:
                fresh = self.parts.topics.read(run)
                retry = ends.again(table, fresh.layout if fresh else topics.layout)
                reader.read(_known_part(retry, topics.rows), remote, table)
        table.close()
        self._observe(topics, before, time.time())
        ends.report(table, topics.offline, run)
        self.runs.append(run.run())

    def _observe(self, topics: Topics, before: float, after: float) -> None:
        """Give the ends to the history that estimates come from."""
        times = self.parts.times
        times.begin()
        for name, row in topics.rows.items():
            table = self.ends.topics[name]
            if table.whole:
                bounds = dict(enumerate(zip(table.starts, table.highs, strict=True)))
            else:
                pairs = enumerate(zip(table.starts, table.highs, strict=True))
                bounds = {number: pair for number, pair in pairs if None not in pair}
            times.observe(name, row.topic_id, bounds, before, after)  # type: ignore[arg-type]  # no None is left in it

    def skip(self, collector: str, reason: str, count: int) -> None:
        """Note items that turned out to be left out after their collector had run."""
        if count:
            changed = [(run, {**run.skipped, reason: count}) for run in self.runs if run.name == collector]
            kept = [run for run in self.runs if run.name != collector]
            self.runs = kept + [replace(run, skipped=skipped) for run, skipped in changed]

    def _coordinator(self, group: str) -> int | None:
        """The broker that leads the group's partition of the offsets topic; None when that can't be seen."""
        leaders = self._topics().coordinators
        return leaders[coordinator_partition(group, len(leaders))] if leaders else None

    def _topics(self) -> Topics:
        assert self.topics is not None
        return self.topics


def _known_part(layout: Layout, rows: Mapping[str, TopicRow]) -> Layout:
    """The part of a newer layout whose topics this poll knows."""
    return {
        leader: {name: parts for name, parts in topics.items() if name in rows} for leader, topics in layout.items()
    }
