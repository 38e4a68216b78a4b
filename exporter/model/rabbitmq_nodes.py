"""Nodes and their disks, from the management API where it answers and from the nodes themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from exporter.model.common import Disk
from exporter.model.rabbitmq import Node
from exporter.model.rabbitmq_listing import text, truth, whole
from exporter.model.rabbitmq_node_pages import NodePage

T = TypeVar("T")
WITHOUT_MNESIA = [4, 3]
NODE_COLUMNS = (
    "name", "running", "mem_used", "mem_limit", "mem_alarm", "fd_used", "fd_total", "partitions", "disk_free",
    "disk_free_limit", "disk_free_alarm", "db_dir", "rabbitmq_version",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ListedNode:
    """One node as `/api/nodes` has it. Of a node that is down it has little more than the name."""

    node: Node
    disk: Disk | None


def read_nodes(items: Iterable[Any]) -> dict[str, ListedNode]:
    """The whole of `/api/nodes` by name. Free space that can't be told (text, or 0 and no alarm) is unknown."""
    found = {}
    for item in items:
        name = text(item.get("name")) if isinstance(item, dict) else None
        if name is not None:
            found[name] = _read_node(name, item)
    return found


def _read_node(name: str, item: Mapping[str, Any]) -> ListedNode:
    if item.get("running") is not True:
        return ListedNode(Node(name, up=False), None)
    node = Node(
        name,
        up=True,
        memory_used_bytes=whole(item.get("mem_used")),
        memory_limit_bytes=whole(item.get("mem_limit")),
        memory_alarm=truth(item.get("mem_alarm")),
        file_descriptors_used=whole(item.get("fd_used")),
        file_descriptors_limit=whole(item.get("fd_total")),
        partitioned=_partitioned(item),
    )
    disk = Disk(
        name,
        text(item.get("db_dir")) or "",
        free_bytes=_free(item),
        free_limit_bytes=whole(item.get("disk_free_limit")),
        alarm=truth(item.get("disk_free_alarm")),
    )
    return ListedNode(node, disk)


def _partitioned(item: Mapping[str, Any]) -> bool | None:
    """Unknown from 4.3 on, which has no Mnesia to say so: its list is there, and always empty."""
    version, partitions = text(item.get("rabbitmq_version")), item.get("partitions")
    numbers = [int(part) for part in (version or "").split(".")[:2] if part.isdigit()]
    if numbers >= WITHOUT_MNESIA or not isinstance(partitions, list):
        return None
    return bool(partitions)


def _free(item: Mapping[str, Any]) -> int | None:
    """Free bytes on the node's disk. A full disk is an alarm: 0 without one is how 3.10 adds up what it can't tell."""
    free = whole(item.get("disk_free"))
    return free if free or truth(item.get("disk_free_alarm")) else None


def members(
    listed: Mapping[str, ListedNode] | None, pages: Mapping[str, NodePage], known: Mapping[str, bool]
) -> tuple[Node, ...]:
    """Every member. `listed` None: the management API did not tell.

    Then a node is up when it answers itself. `known` has the members that were listed last, and whether silence means
    that a node is down: it used to answer, and the management API hangs or is gone. When none answers nobody can tell.
    """
    names = sorted({*(known if listed is None else listed), *pages})
    return tuple(_merged(_base(name, listed, pages, known), pages.get(name)) for name in names)


def _base(
    name: str, listed: Mapping[str, ListedNode] | None, pages: Mapping[str, NodePage], known: Mapping[str, bool]
) -> Node:
    if listed is not None:
        return listed[name].node if name in listed else Node(name, up=True)  # it answers, so it runs
    if name in pages:
        return Node(name, up=True)
    return Node(name, up=False if pages and known.get(name) else None)


def _merged(node: Node, page: NodePage | None) -> Node:
    """What a node says of itself is fresher, by up to the statistics interval."""
    if page is None or not node.up:
        return node
    return Node(
        node.name,
        node.up,
        memory_used_bytes=_either(page.memory_used_bytes, node.memory_used_bytes),
        memory_limit_bytes=_either(page.memory_limit_bytes, node.memory_limit_bytes),
        memory_alarm=_either(page.memory_alarm, node.memory_alarm),
        file_descriptors_used=_either(page.file_descriptors_used, node.file_descriptors_used),
        file_descriptors_limit=_either(page.file_descriptors_limit, node.file_descriptors_limit),
        partitioned=node.partitioned,
    )


def disks(
    nodes: Iterable[Node],
    listed: Mapping[str, ListedNode] | None,
    pages: Mapping[str, NodePage],
    dirs: Mapping[str, str],
) -> tuple[Disk, ...]:
    """One for each node that is up. `dirs`: node -> data directory, as last listed."""
    found = []
    for node in nodes:
        page = pages.get(node.name)
        known = listed[node.name].disk if listed is not None and node.name in listed else None
        if node.up and (page is not None or known is not None):
            here = page or NodePage(node.name)
            there = known or Disk(node.name, "", None, None, None)
            found.append(
                Disk(
                    node.name,
                    dirs.get(node.name, ""),
                    _either(here.disk_free_bytes, there.free_bytes),
                    _either(here.disk_free_limit_bytes, there.free_limit_bytes),
                    _either(here.disk_alarm, there.alarm),
                )
            )
    return tuple(found)


def _either(first: T | None, second: T | None) -> T | None:
    return second if first is None else first
