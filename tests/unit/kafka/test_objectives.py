"""Objectives: which entry wins, what holds without one, and which series have one."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporter.clients.objectives import of_kafka, of_rabbitmq
from exporter.config.load import load
from exporter.config.mistakes import ConfigError
from exporter.config.objectives import KafkaObjectives, RabbitMQObjectives
from exporter.metrics import objectives
from exporter.model.common import DeadLetterQueue
from exporter.model.kafka import Group, GroupTopic, KafkaSnapshot
from exporter.model.objectives import DEFAULTS, NOTHING_SAID, Objectives, resolve

KAFKA = of_kafka(
    KafkaObjectives.model_validate(
        {
            "groups": [
                {"group": "pay.*", "topic": "orders", "lag": "30s", "tier": 1},
                {"group": "pay.*", "owner": "payments", "lag": "2m", "floor": 0},
                {"topic": "orders", "owner": "nobody asked", "floor": 7},
            ],
            "dead_letters": [{"topic": "orders.*", "unhandled": 5, "owner": "orders"}],
        }
    )
)
RABBITMQ = of_rabbitmq(
    RabbitMQObjectives.model_validate(
        {
            "queues": [{"vhost": "/", "queue": "mail|sms", "backlog": 50}],
            "dead_letters": [{"vhost": "/", "unhandled": 2}],
        }
    )
)


@pytest.mark.parametrize(
    ("names", "owner", "tier", "seconds", "floor"),
    [
        (("pay-1", "orders"), "payments", "1", 30.0, 0),  # each key from the first entry that says it
        (("pay-1", "other"), "payments", "2", 120.0, 0),
        (("bill", "orders"), "nobody asked", "2", 300.0, 7),
        (("bill", "other"), "", "2", 300.0, 100),
        (("xpay-1", "orders"), "nobody asked", "2", 300.0, 7),  # the whole name must match
        (("pay\n", "orders"), "payments", "1", 30.0, 0),  # whatever a name has in it
    ],
)
def test_the_first_entry_that_says_something_wins(
    names: tuple[str, str], owner: str, tier: str, seconds: float, floor: int
) -> None:
    found = resolve(KAFKA.lag, names)
    told = (found.owner, found.tier, found.limits["lag_seconds"], found.limits["lag_floor_offsets"])
    assert (owner, tier, seconds, floor) == told


def test_without_any_configuration_there_are_sensible_limits() -> None:
    assert NOTHING_SAID == resolve(Objectives().lag, ("group", "topic"))
    assert ("", "2") == (NOTHING_SAID.owner, NOTHING_SAID.tier)
    assert {300.0, 100, 1, 10_000, 1_000} == set(DEFAULTS.values())


def test_dead_letters_and_queues_have_limits_of_their_own() -> None:
    found = resolve(KAFKA.dead_letters, ("", "orders.DLQ"))
    assert ("orders", 5) == (found.owner, found.limits["unhandled_messages"])
    assert 2 == resolve(RABBITMQ.dead_letters, ("/", "dead")).limits["unhandled_messages"]
    assert 1 == resolve(RABBITMQ.dead_letters, ("other", "dead")).limits["unhandled_messages"]
    limits = [resolve(RABBITMQ.queues, ("/", name)).limits["backlog_messages"] for name in ("mail", "sms", "mails")]
    assert [50, 50, 10_000] == limits


def test_kafka_groups_have_one_for_each_topic_and_dead_letter_topics_theirs() -> None:
    labels = (("pay-1", "orders", "0"),)
    orders = GroupTopic("orders", labels, (0,), (5,), (1,), (2.0,), {}, {}, {}, {"ok": 1}, 0, 0)
    group = Group("pay-1", "classic", "stable", 1, 0, (orders,))
    letters = DeadLetterQueue("orders.DLQ", "", 3, 2, None, None, 3)
    snapshot = KafkaSnapshot(
        "c", "kafka", 1000.0, 15.0, groups=(group,), dead_letter_queues=(letters,), objectives=KAFKA
    )
    found = {family.name: samples for family, samples in objectives.measure(snapshot).items()}
    assert found == {
        "mq_objective_lag_seconds": {("pay-1", "orders", "payments", "1"): 30.0},
        "mq_objective_lag_floor_offsets": {("pay-1", "orders", "payments", "1"): 0},
        "mq_objective_dlq_unhandled_messages": {("kafka", "", "orders.DLQ", "orders", "2"): 5},
        "mq_objective_backlog_messages": {},
        "mq_objective_unacknowledged_messages": {},
    }


MISTAKES = {
    "tier: 4": "tier",
    "tier: urgent": "expected a whole number",
    "lag: soon": "expected a duration such as 15s, 5m or 7d, got 'soon'",
    "floor: -1": "must be 0 or more",
    "group: '('": "is not a regular expression",
    "groups: x": "unknown key",
}


@pytest.mark.parametrize(("line", "said"), MISTAKES.items())
def test_a_mistake_is_told_with_its_place(line: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_text(f"kafka:\n- bootstrap_servers: [k:9092]\n  objectives:\n    groups:\n    - {line}\n")
    with pytest.raises(ConfigError) as caught:
        load(path)
    [mistake] = caught.value.mistakes
    assert (5, True) == (mistake.line, said in f"{mistake.key}: {mistake.text}"), str(mistake)
