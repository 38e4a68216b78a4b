"""One poll of a cluster, from the first request to the frozen snapshot.

The nodes' own endpoints are asked while the management API is. When that hangs, which it does on healthy nodes for a
minute when a peer is frozen, the nodes' word is used with the types and roles of the last good listing.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from exporter.clients import objectives
from exporter.clients.rabbitmq import cli, questions
from exporter.clients.rabbitmq.collecting import Run
from exporter.clients.rabbitmq.failures import Failure, RequestError, hidden_vhost, no_monitor
from exporter.clients.rabbitmq.http import address_of
from exporter.clients.rabbitmq.management import Management
from exporter.clients.rabbitmq.node_endpoints import discover
from exporter.clients.rabbitmq.node_word import NodeWord, hear, judge_nodes
from exporter.clients.rabbitmq.questions import Layout, Overview, literal_vhosts
from exporter.clients.rabbitmq.slow_collectors import collect_layout, collect_streams, collect_tracking
from exporter.config.model import Filter
from exporter.model.common import CollectorRun, Disk, Expected, Kind, Problem
from exporter.model.rabbitmq import QUORUM, STATES_ALWAYS, Node, QueueName, RabbitSnapshot, StreamConsumer
from exporter.model.rabbitmq_dead_letters import DeadLetters
from exporter.model.rabbitmq_dead_letters import discover as discover_dead_letters
from exporter.model.rabbitmq_depths import TWO_LEADERS, merge_depths
from exporter.model.rabbitmq_listing import Listed
from exporter.model.rabbitmq_nodes import ListedNode, disks, members
from exporter.model.rabbitmq_queues import Facts, assemble

if TYPE_CHECKING:
    from exporter.clients.rabbitmq.reader import RabbitReader

T = TypeVar("T")
MANAGEMENT = "management API"
SILENT = frozenset({Kind.UNREACHABLE, Kind.TIMEOUT})
USELESS = SILENT | {Kind.TLS, Kind.AUTHENTICATION}  # after one of these nothing more is asked in this poll


@dataclass
class Known:
    """What the last good answers said, for polls in which the management API does not answer."""

    queues: dict[QueueName, Listed] = field(default_factory=dict)
    nodes: dict[str, str] = field(default_factory=dict)  # node -> data directory
    answering: set[str] = field(default_factory=set)  # nodes whose own endpoint has answered
    version: str | None = None


class Poll:
    """Reads once. `reader` has what outlives a poll."""

    def __init__(self, reader: RabbitReader) -> None:
        self.reader = reader
        self.config = reader.config
        self.known = reader.known
        self.began = time.monotonic()
        self.runs: dict[str, Run] = {}
        self.failure: Failure | None = None  # why the management API is of no use in this poll
        self.blind: Failure | None = None  # why it shows no listeners
        self.vanished = False  # the queues of some vhost are all gone: deleted, or no longer shown to us

    def snapshot(self) -> RabbitSnapshot:
        """The whole poll."""
        reader = self.reader
        reader.management.begin()
        reader.endpoints.begin()
        reader.probes.start(reader.management.idle_urls)
        self._start_ages()
        self._start_nodes()
        overview = self._ask("overview", questions.overview)
        if overview is not None:
            self._discovered(overview)
        nodes = self._ask("nodes", questions.nodes)
        before = frozenset(reader.memory.grown)
        fresh = self._list_queues(overview)
        connections = self._connections(overview)
        layout = self._layout(overview, fresh)
        streams = self._streams()
        word = self._collect_nodes(nodes)
        return self._freeze(nodes, before, fresh, connections, layout, streams, word)

    def _ask(self, name: str, question: Callable[[Management], T]) -> T | None:
        """The answer of one collector; None when it failed, which its run says."""
        run = self.runs[name] = Run(name, self.config.interval)
        try:
            if self.failure is not None:
                raise RequestError(self.failure)
            return question(self.reader.management)
        except RequestError as error:
            run.failed(MANAGEMENT, error.failure)
            if error.failure.kind in USELESS or name == "overview":
                self.failure = error.failure
            return None
        finally:
            run.stop()

    def _start_ages(self) -> None:
        known = self.known.queues
        if self.config.cli and (not known or any(queue.type == QUORUM for queue in known.values())):
            self.reader.ages.start(lambda: cli.quorum_entries(self.config))

    def _collect_ages(self) -> dict[QueueName, float]:
        """As the CLI said last: it takes about a second, more on a busy machine, and no poll waits for it."""
        return self.reader.ages.take(self.reader.patience(self.reader.ages)) or {}

    def _start_nodes(self) -> None:
        if self.config.node_metrics:
            self.reader.endpoints.start(literal_vhosts(self.config.vhosts))

    def _discovered(self, overview: Overview) -> None:
        self.known.version = overview.version
        if not overview.listeners:
            self.blind = no_monitor()
        here = (overview.node, self.reader.management.url)
        self.reader.endpoints.discovered(discover(overview.listeners, self.config.node_metrics_urls, here))
        self._start_nodes()  # those that were not known before
        if not overview.stats:
            what = (
                "the broker keeps no statistics for it (disable_stats): depths come from the nodes, counters are absent"
            )
            self.runs["overview"].problems.append(Problem(Kind.UNSUPPORTED, MANAGEMENT, what))

    def _list_queues(self, overview: Overview | None) -> bool:
        """Whether the listing is of this poll."""
        vhosts, names = self.config.vhosts, self.config.queues

        def question(management: Management) -> dict[QueueName, Listed]:
            assert overview is not None
            return questions.queues(management, overview, vhosts, names)

        listing = self._ask("queues", question)
        if listing is None:
            return False
        self.vanished = bool({one.vhost for one in self.known.queues} - {one.vhost for one in listing})
        self.known.queues = listing
        self.reader.memory.begin(listing)
        return True

    def _connections(self, overview: Overview | None) -> Counter[tuple[str, str]] | None:
        def question(management: Management) -> Counter[tuple[str, str]]:
            assert overview is not None
            if self.blind is not None:  # it would list our own ones alone
                raise RequestError(self.blind)
            return questions.connections(management, overview)

        return self._ask("connections", question)

    def _layout(self, overview: Overview | None, fresh: bool) -> Layout | None:
        failure = self.failure
        if failure is None and overview is None:
            failure = Failure(Kind.UNREACHABLE, "the overview could not be read")
        known = self.known.queues if fresh else {}
        named = literal_vhosts(self.config.vhosts)
        return collect_layout(
            self.reader.layout, self.reader.management, overview, failure, known, named, self.vanished
        )

    def _streams(self) -> tuple[StreamConsumer, ...] | None:
        reader, queues = self.reader, self.known.queues
        if self.config.cli:
            patience = reader.patience(reader.tracking)
            return collect_tracking(reader.tracking, self.config, self.failure, queues, patience)
        return collect_streams(reader.streams, reader.management, self.failure, queues)

    def _collect_nodes(self, nodes: Mapping[str, ListedNode] | None) -> NodeWord:
        if not self.config.node_metrics:
            return NodeWord()
        run = self.runs["node_metrics"] = Run("node_metrics", self.config.interval)
        endpoints = self.reader.endpoints
        collected = endpoints.collect()
        judge_nodes(run, collected, nodes, self.failure or self.blind)
        word = hear(collected, self.known.queues, endpoints.urls)
        run.stop()
        self.known.answering |= word.pages.keys()
        return word

    def _dead_letters(self, layout: Layout | None, fresh: bool) -> DeadLetters:
        if layout is None:
            return DeadLetters((), {}, {})
        names = frozenset(self.known.queues)
        watched_all = self.config.vhosts == Filter() and self.config.queues == Filter()
        exist = names if watched_all and fresh else layout.topology.queues | names
        topology = replace(layout.topology, queues=exist)
        found = discover_dead_letters(self.known.queues.values(), topology, self.reader.memory.consumed)
        self.reader.memory.take_roles(found.roles, self.known.queues)
        return found

    def _freeze(
        self,
        nodes: Mapping[str, ListedNode] | None,
        before: frozenset[QueueName],
        fresh: bool,
        connections: Counter[tuple[str, str]] | None,
        layout: Layout | None,
        streams: tuple[StreamConsumer, ...] | None,
        word: NodeWord,
    ) -> RabbitSnapshot:
        reader = self.reader
        member_list = self._members(nodes, word)
        depths = merge_depths(self.known.queues.values(), fresh, word.counted)
        reader.contradictions[TWO_LEADERS] += depths.contradictions
        facts = Facts(
            self.known.queues,
            fresh,
            depths.depths,
            self._collect_ages(),
            None if nodes is None else {node.name for node in member_list if node.up},
            self._dead_letters(layout, fresh),
            time.time(),
            self.config.interval,
        )
        assembled = assemble(facts, reader.memory, before)
        reader.memory.polled = reader.memory.polled or fresh
        self.runs["queues"].skipped.update(assembled.skipped)
        self._note_strangers(word.strangers, fresh)
        self._tell_hidden(layout, fresh)
        found_disks = self._disks(member_list, nodes, word)
        return RabbitSnapshot(
            cluster=self.config.cluster,
            system="rabbitmq",
            taken_at=facts.at,
            interval_seconds=self.config.interval,
            runs=self._finished_runs(),
            endpoints=self._endpoints(word),
            contradictions=dict(reader.contradictions),
            disks=found_disks,
            dead_letter_queues=assembled.dead_letter_queues,
            dead_letter_sources=assembled.dead_letter_sources,
            clock_offsets=word.clocks,
            version=self.known.version,
            queues=assembled.queues,
            nodes=member_list,
            connections=with_zeros(connections, member_list),
            stream_consumers=streams or (),
            dead_lettered={
                (node, reason, strategy): count
                for node, page in word.pages.items()
                for (reason, strategy), count in page.dead_lettered.items()
            },
            unroutable={
                (node, outcome): count
                for node, page in word.pages.items()
                for outcome, count in page.unroutable.items()
            },
            expected=Expected(nodes=self.config.expected_nodes),
            objectives=objectives.of_rabbitmq(self.config.objectives),
        )

    def _members(self, nodes: Mapping[str, ListedNode] | None, word: NodeWord) -> tuple[Node, ...]:
        if nodes is not None:
            listed = {name: node.disk.dir if node.disk else "" for name, node in nodes.items()}
            self.known.nodes = {name: dir_ or self.known.nodes.get(name, "") for name, dir_ in listed.items()}
            self.known.answering &= nodes.keys() | word.pages.keys()
        silent = self.failure is not None and self.failure.kind in SILENT
        known = {name: silent and name in self.known.answering for name in self.known.nodes}
        return members(nodes, word.pages, known)

    def _disks(
        self, member_list: tuple[Node, ...], nodes: Mapping[str, ListedNode] | None, word: NodeWord
    ) -> tuple[Disk, ...]:
        found = disks(member_list, nodes, word.pages, self.known.nodes)
        if unknown := sum(disk.free_bytes is None for disk in found):
            self.runs["nodes"].skipped["unknown_free_space"] = unknown
        return found

    def _note_strangers(self, strangers: frozenset[str], fresh: bool) -> None:
        """Queues that nodes count and the listing lacks, while it can't be read anew."""
        if self.config.queues == Filter() and not fresh:  # else they are new, or those that nobody asked for
            self.runs["queues"].skipped["unidentified_queue"] += len(strangers)

    def _tell_hidden(self, layout: Layout | None, fresh: bool) -> None:
        """Vhosts without a permission for the user: their queues are left out of every list without a word."""
        listed = {queue.vhost for queue in self.known.queues} if fresh else set()
        for vhost in layout.hidden if layout is not None else ():
            if vhost not in listed and self.config.vhosts.admits(vhost):
                self.runs["queues"].failed(f"vhost {vhost}", hidden_vhost(vhost, self.config.username))

    def _endpoints(self, word: NodeWord) -> dict[str, bool]:
        probed = self.reader.probes.collect(self.began + self.config.timeout)
        urls = probed | self.reader.management.answered
        return {address_of(url): answered for url, answered in urls.items()} | dict(word.endpoints)

    def _finished_runs(self) -> tuple[CollectorRun, ...]:
        reader = self.reader
        others = (reader.layout.run, reader.streams.run, reader.tracking.run, reader.ages.run)
        slow = [run for run in others if run is not None]
        return (*(run.done() for run in self.runs.values()), *slow)


def with_zeros(connections: Counter[tuple[str, str]] | None, nodes: tuple[Node, ...]) -> dict[tuple[str, str], int]:
    """The counts, with a 0 for each usual state of each node that is up, so that "none is blocked" is a number."""
    if connections is None:
        return {}
    return {(node.name, state): 0 for node in nodes if node.up for state in STATES_ALWAYS} | connections
