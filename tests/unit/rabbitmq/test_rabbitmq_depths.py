"""Whose count of a queue is taken, when leaders change and nodes are silent."""

from __future__ import annotations

from exporter.model.rabbitmq import QueueName
from exporter.model.rabbitmq_depths import Depths, merge_depths
from exporter.model.rabbitmq_listing import Listed
from exporter.model.rabbitmq_node_pages import Depth

Q = QueueName("/", "q")
LISTED = Depth(13, 0, 13, 0)


def listed(leader: str | None = "a", depth: Depth = LISTED) -> Listed:
    return Listed(
        Q, "quorum", leader, ("a", "b", "c"), ("a", "b", "c"), "running",
        ready=depth.ready, unacknowledged=depth.unacknowledged, messages=depth.messages, consumers=depth.consumers,
    )  # fmt: skip


def count(number: int) -> Depth:
    return Depth(number, 0, number, 0)


def test_the_leaders_own_count_is_taken() -> None:
    assert Depths({Q: count(7)}, 0) == merge_depths([listed()], True, {"a": {Q: count(7)}})


def test_a_listing_that_added_up_two_leaders_is_not_believed() -> None:
    said = {"a": {Q: count(7)}, "b": {Q: count(6)}}
    assert Depths({Q: count(7)}, 1) == merge_depths([listed()], True, said)


def test_without_a_listing_a_queue_that_two_nodes_count_differently_has_no_depth() -> None:
    said = {"a": {Q: count(7)}, "b": {Q: count(6)}}
    assert Depths({}, 1) == merge_depths([listed()], False, said)


def test_two_nodes_that_agree_contradict_nothing() -> None:
    said = {"a": {Q: count(7)}, "b": {Q: count(7)}}
    assert Depths({Q: count(7)}, 0) == merge_depths([listed()], False, said)


def test_a_queue_whose_leader_did_not_answer_has_the_listings_count() -> None:
    assert Depths({Q: LISTED}, 0) == merge_depths([listed()], True, {"b": {}})


def test_without_a_listing_a_queue_of_a_silent_node_is_withheld() -> None:
    assert Depths({}, 0) == merge_depths([listed()], False, {"b": {}})


def test_without_a_listing_a_new_leader_is_believed() -> None:
    assert Depths({Q: count(7)}, 0) == merge_depths([listed()], False, {"b": {Q: count(7)}})


def test_a_fresh_listing_without_numbers_gives_none() -> None:
    nothing = Depth()
    assert Depths({Q: nothing}, 0) == merge_depths([listed(depth=nothing)], True, {})
