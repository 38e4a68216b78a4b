"""Queues put together from all sources, and what the page makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from exporter.clients.rabbitmq.cli import clock_ahead
from exporter.metrics import registry
from exporter.metrics.family import Labels
from exporter.model.common import DeadLetterQueue, DeadLetterSource, Expected
from exporter.model.rabbitmq import Age, Counters, Node, Queue, QueueName, RabbitSnapshot, Replicas, StreamConsumer
from exporter.model.rabbitmq_dead_letters import DeadLetters, discover
from exporter.model.rabbitmq_listing import Listed, read_queues
from exporter.model.rabbitmq_memory import QueueMemory
from exporter.model.rabbitmq_node_pages import Depth
from exporter.model.rabbitmq_queues import Assembled, Facts, assemble, is_real
from exporter.model.rabbitmq_streams import Tracked, committed, from_consumers, from_tracking
from exporter.model.rabbitmq_topology import Topology

NOW = 1_796_000_000.0
Q = QueueName("v", "q")
QUORUM = {
    "vhost": "v", "name": "q", "type": "quorum", "leader": "a", "members": ["a", "b", "c"], "online": ["a", "b"],
    "arguments": {}, "messages": 3, "messages_ready": 2, "messages_unacknowledged": 1, "messages_dlx": 0,
    "consumers": 1, "consumer_capacity": 1.0, "memory": 99, "message_stats": {"publish": 5, "ack": 2, "deliver_get": 3},
}  # fmt: skip


def facts(queues: Mapping[QueueName, Listed], **changes: Any) -> Facts:
    depths = {name: Depth(q.ready, q.unacknowledged, q.messages, q.consumers) for name, q in queues.items()}
    found = discover(queues.values(), Topology(queues=frozenset(queues)), set())
    given = {"fresh": True, "depths": depths, "entries": {}, "running": {"a", "b"}, "found": found}
    return Facts(queues=queues, **{"at": NOW, "interval": 15.0, **given, **changes})


def assembled(*items: dict[str, Any], **changes: Any) -> Assembled:
    queues = read_queues(items, True)
    memory = QueueMemory()
    memory.begin(queues)
    given = facts(queues, **changes)
    memory.take_roles(given.found.roles, queues)
    return assemble(given, memory, frozenset())


def test_a_quorum_queue_has_all_that_was_read() -> None:
    expected = Queue(
        Q, "quorum", "work", ready=2, unacknowledged=1, consumers=1, consumer_capacity=1.0, memory_bytes=99,
        counters=Counters(5, 3, 2, 0), replicas=Replicas(3, 2, True, 0), age=Age(7.0, "broker"),
    )  # fmt: skip
    assert Assembled((expected,), (), (), {}) == assembled(QUORUM, entries={Q: NOW - 7.0})


def test_without_a_fresh_listing_only_what_the_nodes_say_is_shown() -> None:
    expected = Queue(Q, "quorum", "work", ready=2, unacknowledged=1, consumers=1, replicas=Replicas())
    found = assembled(QUORUM, fresh=False, depths={Q: Depth(2, 1, 3, 1)})
    assert Assembled((expected,), (), (), {"age_unknown": 1}) == found


def test_a_queue_of_a_silent_node_is_withheld_and_counted() -> None:
    found = assembled(QUORUM, fresh=False, depths={})
    assert Assembled((Queue(Q, "quorum", "work", replicas=Replicas()),), (), (), {"leader_not_answering": 1}) == found


@pytest.mark.parametrize(
    ("online", "leader", "available"),
    [(["a", "b", "c"], "a", True), (["a", "b"], "a", True), (["a"], "a", False), (["a", "b"], "c", False)],
)
def test_a_leader_is_available_with_its_node_and_a_majority(online: list[str], leader: str, available: bool) -> None:
    (queue,) = assembled({**QUORUM, "online": online, "leader": leader}).queues
    assert Replicas(3, len(online), available, 0) == queue.replicas


def test_an_empty_queue_has_age_0() -> None:
    item = {**QUORUM, "messages": 0, "messages_ready": 0, "messages_unacknowledged": 0}
    (queue,) = assembled(item).queues
    assert Age(0.0, "empty") == queue.age


def test_a_head_timestamp_is_the_age_of_a_classic_queue() -> None:
    item = {**QUORUM, "type": "classic", "head_message_timestamp": int(NOW) - 60}
    (queue,) = assembled(item).queues
    assert (Age(60.0, "head_timestamp"), None) == (queue.age, queue.replicas)


@pytest.mark.parametrize("timestamp", [None, 0, 1, int(NOW) + 1, int(NOW) * 1000])
def test_a_timestamp_that_cannot_be_is_none(timestamp: int | None) -> None:
    assert not is_real(timestamp, NOW)
    assert is_real(int(NOW), NOW)


def test_a_dead_letter_queue_is_told_with_what_feeds_it() -> None:
    arguments = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}
    source = {"vhost": "v", "name": "src", "type": "classic", "arguments": arguments, "messages": 0}
    dead = {**QUORUM, "name": "dead", "arguments": {"x-message-ttl": 60_000}}
    found = assembled(source, dead, entries={QueueName("v", "dead"): NOW - 20.0})
    assert (DeadLetterQueue("dead", "v", 3, 3, 20.0, 40.0, 0),) == found.dead_letter_queues
    assert (DeadLetterSource("dead", "v", "src", "argument"),) == found.dead_letter_sources


def test_without_a_topology_nothing_is_said_of_dead_letters() -> None:
    found = assembled(QUORUM, found=DeadLetters((), {}, {}))
    assert ((), ()) == (found.dead_letter_queues, found.dead_letter_sources)


def test_what_a_majority_holds_is_committed() -> None:
    assert [9, 7, None, None, 4] == [
        committed([9, 9, 3], 3), committed([9, 7], 3), committed([9], 3), committed([], 0), committed([4], 1)
    ]  # fmt: skip


def test_lag_is_from_the_stored_offset_to_the_committed_one() -> None:
    tracked = [Tracked(Q, (9, 9, 8), {"billing": 6, "ahead": 99}), Tracked(QueueName("v", "filtered"), (1,), {"x": 0})]
    assert [StreamConsumer(Q, "billing", 3)] == from_tracking(tracked, {Q: 3})


def test_consumers_without_a_name_have_no_lag() -> None:
    item = {"queue": {"vhost": "v", "name": "q"}, "properties": {"name": "billing"}, "offset_lag": 5}
    items = [item, {**item, "offset_lag": 2}, {**item, "properties": {}}, {**item, "offset_lag": -1}, None]
    assert [StreamConsumer(Q, "billing", 5)] == from_consumers(items)


@pytest.mark.parametrize(
    ("consumed", "offset", "lag", "known"),
    [(0, 0, 9, False), (0, 0, 0, True), (1, 0, 9, True), (0, 10, 9, False), (0, 10, 0, True)],
)
def test_a_consumer_that_got_nothing_yet_has_no_lag(consumed: int, offset: int, lag: int, known: bool) -> None:
    item = {"queue": {"vhost": "v", "name": "q"}, "properties": {"name": "billing"}}
    found = from_consumers([{**item, "consumed": consumed, "offset": offset, "offset_lag": lag}])
    assert ([StreamConsumer(Q, "billing", lag)] if known else []) == found


def test_memory_survives_a_restart_and_forgets_what_is_gone() -> None:
    import json

    queues = read_queues([QUORUM, {**QUORUM, "name": "other"}], True)
    memory = QueueMemory()
    memory.begin(queues)
    assemble(facts(queues), memory, frozenset())
    again = QueueMemory()
    again.restore(json.loads(json.dumps(memory.state())))
    assert json.dumps(memory.state()) == json.dumps(again.state())
    again.begin({Q: queues[Q]})
    assert [{Q}, {Q}, {Q}] == [set(kept) for kept in (again.grown, again.histories, again.consumed)]


@pytest.mark.parametrize("state", [{}, {"histories": 3}, {"grown": [["v", "q", [1], [2], 0]]}, {"arrivals": [[1, 2]]}])
def test_a_broken_state_is_left_out(state: dict[str, Any]) -> None:
    memory = QueueMemory()
    memory.restore(state)
    assert {"histories": [], "grown": [], "arrivals": [], "consumed": []} == memory.state()


SNAPSHOT = RabbitSnapshot(
    cluster="c", system="rabbitmq", taken_at=NOW, interval_seconds=15.0, expected=Expected(nodes=3),
    queues=(
        Queue(Q, "quorum", "dlq", 2, 1, None, 4, 0.5, 99, Counters(5, 3, 2, 0), Replicas(3, 2, True, 1),
              Age(7.0, "history", 2.0)),
        Queue(QueueName("v", "s"), "stream", "work", retained=10, replicas=Replicas()),
        Queue(QueueName("v", "unknown"), "classic", "work"),
    ),
    nodes=(Node("a", True, 1, 2, True, 3, 4, False), Node("b", False), Node("c", None)),
    connections={("a", "blocked"): 1},
    stream_consumers=(StreamConsumer(QueueName("v", "s"), "billing", 3),),
    dead_lettered={("a", "rejected", "disabled"): 5},
    unroutable={("a", "dropped"): 6},
)  # fmt: skip


def test_each_fact_has_its_sample_and_nothing_unknown_has_one() -> None:
    families, faults = registry.measure(SNAPSHOT)
    assert not faults
    queue, node = ("v", "q", "quorum", "dlq"), ("a",)
    expected: dict[str, dict[Labels, float]] = {
        "queue_messages_ready": {queue: 2}, "queue_messages_unacknowledged": {queue: 1}, "queue_consumers": {queue: 4},
        "queue_consumer_capacity_ratio": {queue: 0.5}, "queue_memory_bytes": {queue: 99},
        "queue_published_total": {queue: 5}, "queue_delivered_total": {queue: 3},
        "queue_acknowledged_total": {queue: 2}, "queue_redelivered_total": {queue: 0},
        "queue_oldest_message_age_seconds": {queue: 7}, "queue_age_error_bound_seconds": {queue: 2},
        "queue_oldest_message_age_info": {("v", "q", "history"): 1},
        "queue_replicas": {("v", "q"): 3}, "queue_replicas_online": {("v", "q"): 2},
        "queue_leader_available": {("v", "q"): 1}, "queue_held_dead_letter_messages": {("v", "q"): 1},
        "stream_retained_messages": {("v", "s"): 10}, "stream_consumer_lag_offsets": {("v", "s", "billing"): 3},
        "dead_lettered_total": {("a", "rejected", "disabled"): 5}, "unroutable_total": {("a", "dropped"): 6},
        "node_up": {node: 1, ("b",): 0}, "node_memory_used_bytes": {node: 1}, "node_memory_limit_bytes": {node: 2},
        "node_memory_alarm": {node: 1}, "node_file_descriptors_used": {node: 3},
        "node_file_descriptors_limit": {node: 4}, "node_partitioned": {node: 0},
        "connections": {("a", "blocked"): 1},
    }  # fmt: skip
    assert expected == {
        family.name.removeprefix("mq_rabbitmq_"): samples
        for family, samples in families.items()
        if family.name.startswith("mq_rabbitmq_")
    }


def test_a_message_that_is_surely_gone_has_no_age_any_more() -> None:
    """The broker was asked before it left; the queue was seen empty since."""
    memory = QueueMemory()
    empty = read_queues([{**QUORUM, "messages": 0, "messages_ready": 0, "messages_unacknowledged": 0}], True)
    full = read_queues([QUORUM], True)
    for queues, at in ((empty, NOW - 30), (full, NOW)):
        memory.begin(queues)
        given = facts(queues, entries={Q: NOW - 600}, at=at)
        memory.take_roles(given.found.roles, queues)
        (queue,) = assemble(given, memory, frozenset()).queues
    assert queue.age is not None
    assert "history" == queue.age.method


def test_a_nodes_clock_is_taken_as_ours_where_it_can_be() -> None:
    assert [0.0, 100.0, -100.0] == [clock_ahead(at, 1000.0, 1002.0) for at in (1001.5, 1101.0, 901.0)]
