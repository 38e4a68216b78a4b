"""Where dead letters go: the set-ups that were run on a real broker, told from the API's data alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from exporter.model.rabbitmq import QueueName
from exporter.model.rabbitmq_dead_letters import DeadLetters, discover
from exporter.model.rabbitmq_listing import read_queues
from exporter.model.rabbitmq_topology import read_topology, topic_matches
from tests.mutations import fails_under
from tests.rabbitmq_set_ups import SET_UPS, SetUp


def found(set_up: SetUp, consumed: Iterable[str] = ()) -> DeadLetters:
    queues = read_queues([{"vhost": "v", **queue} for queue in set_up.listed()], True)
    default = [{"source": "", "destination": name.name, "destination_type": "queue"} for name in queues]
    topology = read_topology(
        [{"vhost": "v", **exchange} for exchange in set_up.listed_exchanges()],
        [{"vhost": "v", **binding} for binding in [*set_up.bindings, *default]],
        [{"vhost": "v", "name": name, "definition": definition} for name, definition in set_up.policies.items()],
        [],
    )
    return discover(queues.values(), topology, {QueueName("v", name) for name in consumed})


def check_the_targets_are_those_of_the_broker(set_up: SetUp) -> None:
    feeds = {
        (feed.target.name if feed.target else "", feed.via) for feed in found(set_up).feeds if feed.source.name == "src"
    }
    assert set_up.expected == feeds


@pytest.mark.parametrize("set_up", SET_UPS, ids=lambda one: one.name)
def test_the_targets_are_those_of_the_broker(set_up: SetUp) -> None:
    check_the_targets_are_those_of_the_broker(set_up)


def test_following_only_arguments_is_not_enough() -> None:
    by_policy = next(one for one in SET_UPS if one.name == "policy topic, quorum")
    fails_under("follow_only_arguments", check_the_targets_are_those_of_the_broker, by_policy)


def queue(name: str, dlx: str | None = None, key: str | None = None, **arguments: Any) -> dict[str, Any]:
    given = {"x-dead-letter-exchange": dlx, "x-dead-letter-routing-key": key, **arguments}
    return {"name": name, "type": "classic", "arguments": {k: v for k, v in given.items() if v is not None}}


def roles(queues: list[dict[str, Any]], consumed: Iterable[str] = ()) -> dict[str, str]:
    set_up = SetUp("roles", set(), queues=queues)
    return {name.name: role for name, role in found(set_up, consumed).roles.items()}


def test_a_queue_is_a_dead_letter_queue_by_what_feeds_it_and_not_by_its_name() -> None:
    queues = [queue("src", "", "parking"), queue("parking"), queue("orders.dlq")]
    assert {"src": "work", "parking": "dlq", "orders.dlq": "work"} == roles(queues)


def test_a_queue_with_ttl_that_sends_back_to_its_feeder_is_a_retry_queue() -> None:
    queues = [queue("work", "", "wait"), queue("wait", "", "work", **{"x-message-ttl": 5000})]
    assert {"work": "work", "wait": "retry"} == roles(queues)


def test_a_queue_with_ttl_that_sends_to_where_work_is_done_is_a_retry_queue() -> None:
    queues = [queue("work"), queue("wait", "", "work", **{"x-message-ttl": 5000})]
    assert {"work": "work", "wait": "retry"} == roles(queues, consumed=["work"])


def test_a_circle_with_a_ttl_on_each_message_is_told_by_who_consumes() -> None:
    queues = [queue("work", "", "wait"), queue("wait", "", "work")]
    assert {"work": "work", "wait": "retry"} == roles(queues, consumed=["work"])


def test_a_work_queue_with_ttl_and_its_consumers_gone_is_still_a_work_queue() -> None:
    queues = [queue("work", "", "dead", **{"x-message-ttl": 5000}), queue("dead")]
    assert {"work": "work", "dead": "dlq"} == roles(queues, consumed=["work"])
    assert {"work": "work", "dead": "dlq"} == roles(queues)


def test_a_queue_that_dead_letters_into_itself_is_no_dead_letter_queue() -> None:
    assert {"src": "work"} == roles([queue("src", "")])


def test_a_queue_whose_policy_is_not_known_yet_has_no_settings() -> None:
    unknown = {"name": "src", "type": "classic", "arguments": {}, "policy": "brand-new"}
    result = found(SetUp("unknown policy", set(), queues=[unknown]))
    assert ((), {}, {}) == (result.feeds, result.roles, result.settings)


def test_the_smaller_ttl_wins() -> None:
    queues = [{"name": "src", "type": "classic", "arguments": {"x-message-ttl": 60000}, "policy": "p"}]
    result = found(SetUp("ttl", set(), queues=queues, policies={"p": {"message-ttl": 5000}}))
    assert 5.0 == result.settings[QueueName("v", "src")].ttl_seconds


@pytest.mark.parametrize(
    ("pattern", "key", "matches"),
    [
        ("a.*", "a.b", True), ("a.*", "a", False), ("a.*", "a.b.c", False), ("a.#", "a", True), ("a.#", "a.b.c", True),
        ("#", "", True), ("*", "", False), ("#.c", "a.b.c", True), ("#.c", "c", True), ("#.c", "a.b", False),
        ("*.#", "a", True), ("*.#", "", False), ("a.#.b", "a.b", True), ("a.#.b", "a.x.y.b", True), ("", "", True),
        ("", "a", False), ("#.#", "a", True), ("a", "a", True), ("a.b", "a", False), ("#.*.b", "x.b.b", True),
    ],
)  # fmt: skip
def test_topic_patterns_match_as_the_broker_matches(pattern: str, key: str, matches: bool) -> None:
    assert matches == topic_matches(pattern, key)
