"""Which names are suspected to be hidden, and what a missing right is called."""

from __future__ import annotations

import shlex

import pytest

from exporter.clients.kafka import hidden, rights
from exporter.clients.kafka.failures import Failure
from exporter.config.model import Filter, Kafka
from exporter.model.common import Kind


@pytest.mark.parametrize(
    ("allow", "expected"),
    [
        ((".*",), set()),
        (("orders", "payments-v2_a"), {"orders", "payments-v2_a"}),
        ((r"orders\.eu", "orders.us"), {"orders.eu"}),  # a bare dot is any character
        ((r"a\d", "b|c", "[d]", "e?", "f"), {"f"}),
        ((r"x\-y\_z",), {"x-y_z"}),
    ],
)
def test_a_filter_names_what_it_allows_without_a_pattern(allow: tuple[str, ...], expected: set[str]) -> None:
    assert expected == hidden.literal(Filter(allow=allow))


def test_topics_and_groups_are_named_in_many_places() -> None:
    letters = {"topics": ["parked"], "sources": {"dead": "x"}, "handlers": {"late": "handler"}}
    config = Kafka(
        bootstrap_servers=("a:1",), topics=Filter(allow=("t", "u.*")), groups=Filter(allow=("g", ".*")),
        expected_groups=("billing",), dead_letters=letters,
    )  # fmt: skip
    assert {"t", "parked", "dead", "late"} == hidden.configured_topics(config)
    assert {"g", "billing", "handler"} == hidden.configured_groups(config)


COMMAND = "kafka-acls --add --allow-principal User:USER --operation"


@pytest.mark.parametrize(
    ("right", "names", "expected"),
    [
        (rights.DESCRIBE_CLUSTER, (), f"missing right Describe on Cluster: LOST; {COMMAND} Describe --cluster"),
        (rights.READ_TOPIC, ("a",), f"missing right Read on Topic a: LOST; {COMMAND} Read --topic a"),
        (
            rights.DESCRIBE_GROUP,
            ("a", "b", "c"),
            f"missing right Describe on Group a and 2 others: LOST; {COMMAND} Describe --group '*'",
        ),
        (rights.DESCRIBE_TOPICS, (), f"missing right Describe on Topic: LOST; {COMMAND} Describe --topic '*'"),
    ],
)
def test_a_missing_right_is_named_with_the_command_that_gives_it(
    right: rights.Right, names: tuple[str, ...], expected: str
) -> None:
    assert Failure(Kind.AUTHORIZATION, expected.replace("LOST", right.lost)) == right.failure(names)


def test_a_name_from_strangers_can_be_pasted_into_a_shell() -> None:
    detail = rights.DESCRIBE_GROUP.failure(["a'; reboot"]).detail
    assert ["--group", "a'; reboot"] == shlex.split(detail.partition("; kafka-acls ")[2])[-2:]


def test_an_item_names_the_first_and_counts_the_rest() -> None:
    assert "group a" == rights.item("group", ["a"])
    assert "group a and 1 other" == rights.item("group", ["a", "b"])
