"""The queue listing: what versions leave out is unknown, and never 0."""

from __future__ import annotations

from typing import Any

from exporter.model.rabbitmq import QueueName
from exporter.model.rabbitmq_listing import Listed, RawCounters, read_queues
from tests.mutations import fails_under

WORK = QueueName("/", "work")


def read(stats: bool = True, **fields: Any) -> Listed:
    return read_queues([{"vhost": "/", "name": "work", **fields}], stats)[WORK]


def test_a_quorum_queue_of_3_10_is_read_whole() -> None:
    item = {
        "vhost": "/", "name": "work", "type": "quorum", "node": "b", "leader": "a", "members": ["a", "b", "c"],
        "online": ["a", "b"], "state": "running", "arguments": {"x-queue-type": "quorum"}, "policy": "p",
        "operator_policy": None, "messages": 7, "messages_ready": 4, "messages_unacknowledged": 2, "messages_dlx": 1,
        "consumers": 3, "consumer_capacity": 0.5, "memory": 1000, "exclusive": False, "auto_delete": False,
        "message_stats": {"publish": 10, "ack": 3, "deliver_get": 6, "redeliver": 1},
    }  # fmt: skip
    expected = Listed(
        WORK, "quorum", "a", ("a", "b", "c"), ("a", "b"), "running", {"x-queue-type": "quorum"}, "p", None,
        ready=4, unacknowledged=2, messages=7, held=1, consumers=3, capacity=0.5, memory=1000,
        counters=RawCounters(published=10, delivered=6, acknowledged=3, redelivered=1, departed=3),
    )  # fmt: skip
    assert {WORK: expected} == read_queues([item], True)


def check_a_fresh_queue_has_no_numbers() -> None:
    queue = read(type="quorum", members=["a"], online=["a"])
    numbers = (queue.ready, queue.unacknowledged, queue.messages, queue.consumers, queue.counters)
    assert (None, None, None, None, RawCounters()) == numbers


def test_a_fresh_queue_has_no_numbers() -> None:
    check_a_fresh_queue_has_no_numbers()
    fails_under("missing_as_zero", check_a_fresh_queue_has_no_numbers)


def test_what_the_broker_has_not_begun_to_count_is_0_where_it_keeps_statistics() -> None:
    assert RawCounters(0, 0, 0, 0, 0) == read(messages=0).counters
    assert RawCounters() == read(messages=0, stats=False).counters


def test_departures_include_what_is_delivered_without_acknowledgement() -> None:
    counts = {"ack": 1, "deliver_no_ack": 2, "get_no_ack": 4}
    assert 7 == read(messages=0, message_stats=counts).counters.departed


def test_numbers_that_are_none_are_unknown() -> None:
    for value in ("NaN", True, None, -1, 1.5, ""):
        assert None is read(messages_ready=value).ready


def test_a_head_timestamp_of_null_is_unknown() -> None:
    assert None is read(type="classic", head_message_timestamp=None).head_timestamp
    assert 1796054908 == read(type="classic", head_message_timestamp=1796054908).head_timestamp


def test_the_leader_of_3_13_stands_in_node() -> None:
    assert "a" == read(type="quorum", node="a").leader


def test_items_without_a_name_are_left_out() -> None:
    assert {} == read_queues([{"vhost": "/"}, {"name": "x"}, None, 3, {"vhost": "/", "name": None}], True)
