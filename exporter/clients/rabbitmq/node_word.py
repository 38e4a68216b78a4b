"""What the nodes said themselves in one poll, and which silences are failures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from exporter.clients.rabbitmq.collecting import Run
from exporter.clients.rabbitmq.failures import Failure
from exporter.clients.rabbitmq.http import address_of
from exporter.clients.rabbitmq.node_endpoints import Collected
from exporter.model.common import Kind
from exporter.model.rabbitmq import QueueName
from exporter.model.rabbitmq_node_pages import Depth, NodePage, read_depths, read_node, spellings
from exporter.model.rabbitmq_nodes import ListedNode


@dataclass(frozen=True, slots=True)
class NodeWord:
    """By node: its page, the queues that it counts, its clock. `strangers` are labels of queues that are not known."""

    pages: Mapping[str, NodePage] = field(default_factory=dict)
    counted: Mapping[str, Mapping[QueueName, Depth]] = field(default_factory=dict)
    strangers: frozenset[str] = frozenset()
    clocks: Mapping[str, float] = field(default_factory=dict)
    endpoints: Mapping[str, bool] = field(default_factory=dict)  # address -> answered


def hear(collected: Collected, queues: Mapping[QueueName, object], urls: Mapping[str, list[str]]) -> NodeWord:
    """Read all pages. `queues`: those of the last listing; `urls`: of each node, the one that answers first."""
    known = spellings(queues)
    pages: dict[str, NodePage] = {}
    counted: dict[str, dict[QueueName, Depth]] = {}
    strangers: set[str] = set()
    for node, said in collected.pages.items():
        page = read_node(said.plain)
        assert page is not None  # its identity was compared when it came
        pages[node] = page
        counted[node], unknown = read_depths(said.detailed or "", known)
        strangers |= unknown
    return NodeWord(
        pages,
        counted,
        frozenset(strangers),
        {node: said.clock_offset for node, said in collected.pages.items() if said.clock_offset is not None},
        {address_of(candidates[0]): node in pages for node, candidates in urls.items() if candidates},
    )


def judge_nodes(
    run: Run, collected: Collected, nodes: Mapping[str, ListedNode] | None, silence: Failure | None
) -> None:
    """A node that is down need not answer. `silence`: why no endpoint is known, where that is no fault of the nodes."""
    for node, failure in sorted(collected.failures.items()):
        if nodes is None or node not in nodes or nodes[node].node.up:
            run.failed(f"node {node}", failure)
    for node, said in sorted(collected.pages.items()):
        if said.lack is not None:
            run.failed(f"queues of node {node}", said.lack)
    if collected.pages or collected.failures:
        return
    if silence is not None:
        run.failed("management API", silence)
        return
    what = "no node has a Prometheus listener (rabbitmq-plugins enable rabbitmq_prometheus): no counts of dead letters"
    run.failed("nodes", Failure(Kind.UNSUPPORTED, what))
