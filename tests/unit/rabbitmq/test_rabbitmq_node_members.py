"""Members: who is up, and what is known of whom."""

from __future__ import annotations

from typing import Any

from exporter.model.common import Disk
from exporter.model.rabbitmq import Node
from exporter.model.rabbitmq_node_pages import NodePage
from exporter.model.rabbitmq_nodes import disks, members, read_nodes

ITEM = {
    "name": "a", "running": True, "mem_used": 10, "mem_limit": 100, "mem_alarm": False, "fd_used": 5, "fd_total": 50,
    "partitions": [], "disk_free": 1000, "disk_free_limit": 50, "disk_free_alarm": False, "db_dir": "/data",
}  # fmt: skip
WHOLE = Node("a", True, 10, 100, False, 5, 50, False)


def read(**changes: Any) -> tuple[Node, Disk | None]:
    found = read_nodes([{**ITEM, **changes}])["a"]
    return found.node, found.disk


def test_a_running_node_is_read_whole() -> None:
    assert (WHOLE, Disk("a", "/data", 1000, 50, False)) == read()


def test_a_node_that_is_down_is_down_and_has_nothing_else() -> None:
    assert (Node("a", False), None) == read(running=False)


def test_free_space_that_is_text_is_unknown() -> None:
    assert (WHOLE, Disk("a", "/data", None, 50, False)) == read(disk_free="NaN")


def test_no_free_space_without_an_alarm_is_unknown_and_with_one_is_none() -> None:
    assert (WHOLE, Disk("a", "/data", None, 50, False)) == read(disk_free=0)
    assert (WHOLE, Disk("a", "/data", 0, 50, True)) == read(disk_free=0, disk_free_alarm=True)


def test_an_alarm_flag_that_is_not_there_yet_is_unknown() -> None:
    item = {key: value for key, value in ITEM.items() if key != "disk_free_alarm"}
    assert Disk("a", "/data", 1000, 50, None) == read_nodes([item])["a"].disk


def test_a_node_that_sees_a_partition_says_so() -> None:
    assert True is read(partitions=["b"])[0].partitioned


def test_partitions_are_unknown_to_versions_that_do_not_look() -> None:
    """4.3 has an empty list there, whatever happens."""
    known = {
        version: read(rabbitmq_version=version)[0].partitioned for version in ("3.10.8", "4.2.1", "4.3.6", "5.0.0")
    }
    assert {"3.10.8": False, "4.2.1": False, "4.3.6": None, "5.0.0": None} == known


def test_a_nodes_own_word_is_fresher() -> None:
    page = NodePage("a", memory_alarm=True, disk_alarm=True, disk_free_bytes=7)
    listed = read_nodes([ITEM])
    nodes = members(listed, {"a": page}, {})
    assert (Node("a", True, 10, 100, True, 5, 50, False),) == nodes
    assert (Disk("a", "/data", 7, 50, True),) == disks(nodes, listed, {"a": page}, {"a": "/data"})


def ups(pages: list[str], known: dict[str, bool]) -> dict[str, bool | None]:
    return {node.name: node.up for node in members(None, {name: NodePage(name) for name in pages}, known)}


def test_without_a_listing_a_node_that_went_silent_is_down() -> None:
    assert {"a": True, "b": False} == ups(["a"], {"a": True, "b": True})


def test_without_a_listing_a_node_that_never_answered_is_unknown() -> None:
    assert {"a": True, "b": None} == ups(["a"], {"a": True, "b": False})


def test_when_nobody_answers_nobody_can_tell() -> None:
    assert {"a": None, "b": None} == ups([], {"a": True, "b": True})


def test_a_node_that_left_the_cluster_is_gone() -> None:
    listed = read_nodes([ITEM])
    assert {"a": True} == {node.name: node.up for node in members(listed, {}, {"a": True, "old": True})}


def test_a_disk_of_a_node_that_is_down_is_unknown() -> None:
    listed = read_nodes([{**ITEM, "running": False}])
    assert () == disks(members(listed, {}, {}), listed, {}, {"a": "/data"})
