"""The versions that this run's brokers have, and what those lack.

`MQ_TEST_KAFKA`, `MQ_TEST_RABBITMQ`, `MQ_TEST_PROMETHEUS` and `MQ_TEST_PROFILE` choose them; with `MQ_TEST_LAB` that lab
has its own. A test that needs what a version lacks is marked `needs("share_groups")`, and is reported as lacking; that
a page has no series of it is asserted by the other tests of that page, which compare all of a family.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

import pytest

from drills.lab import Lab
from drills.lab.record import Settings

CHOSEN = {
    "kafka_version": "MQ_TEST_KAFKA",
    "rabbitmq_version": "MQ_TEST_RABBITMQ",
    "prometheus_version": "MQ_TEST_PROMETHEUS",
    "profile": "MQ_TEST_PROFILE",  # plain or secure
}
LACKING = "lacking: "


@dataclass(frozen=True)
class Feature:
    """What a product has from one version on (`since`), or had until another (`until`, not included)."""

    product: str
    what: str
    absent: str  # the series that a version without it has not
    since: tuple[int, ...] = ()
    until: tuple[int, ...] = (999,)


FEATURES = {
    "consumer_groups": Feature(
        "kafka",
        "consumer groups of the new protocol (KIP-848; 3.9 has a preview that is off, and that confluent-kafka "
        "does not join)",
        '`mq_kafka_group_info{type="consumer"}`',
        since=(4, 0),
    ),
    "share_groups": Feature("kafka", "share groups (KIP-932)", "all `mq_kafka_group_*` of share groups", since=(4, 2)),
    "share_group_dead_letters": Feature(
        "kafka",
        "dead-letter topics of share groups (KIP-1191)",
        '`mq_dlq_source_info{via="share_group"}` and `{via="topic_config"}`',
        since=(4, 4),
    ),
    "statistics_begin_unknown": Feature(
        "rabbitmq",
        "a queue just declared has no depth in the management API until it was counted (later versions say 0 for up to "
        "5 s, so that `node_metrics: false` shows 0)",
        "none",
        until=(4, 3),
    ),
    "partitions": Feature(
        "rabbitmq",
        "partitions that stay until a node is restarted (Mnesia)",
        "`mq_rabbitmq_node_partitioned`",
        until=(4, 3),
    ),
    "queue_pages_at_once": Feature(
        "rabbitmq",
        "a node's page of queues comes at once while a peer is frozen (4.3 first waits ten seconds for the peer: with "
        "`timeout: 11s` it is read all the same)",
        "with a shorter `timeout`: `mq_rabbitmq_queue_*` of all queues, until the frozen node is taken for gone",
        until=(4, 3),
    ),
    "requeues_count": Feature(
        "rabbitmq", "a message that is requeued by `basic.nack` counts towards the delivery limit", "none", until=(4, 3)
    ),
    "names_unescaped": Feature(
        "rabbitmq", "`\"` and `\\` in queue names stand unescaped on the nodes' own pages", "none", until=(4, 0)
    ),
    "login_refused_as_not_authorized": Feature(
        "rabbitmq", "a refused login is called `Not_Authorized`, before `Login failed`", "none", since=(4, 0)
    ),
    "listeners_in_a_table": Feature(
        "rabbitmq", "listeners stand in a table of the cluster, and a peer may delete them", "none", until=(4, 0)
    ),
    "streams_groups": Feature(
        "kafka", "Streams groups (KIP-1071)", '`mq_kafka_group_info{type="streams"}`', since=(4, 2)
    ),
}


def settings() -> Settings | None:
    """What a lab is made with; None where nothing was chosen."""
    chosen = {field: os.environ[name] for field, name in CHOSEN.items() if os.environ.get(name)}
    return replace(Settings(), **chosen) if chosen else None


@cache
def of_this_run() -> Settings:
    """The versions of the lab that the tests use."""
    name = os.environ.get("MQ_TEST_LAB")
    return Lab.open(name).record.settings if name else settings() or Settings()


def has(feature: str, versions: Settings | None = None) -> bool:
    """Whether these versions (default: this run's) have a feature."""
    wanted, found = FEATURES[feature], versions or of_this_run()
    text: str = getattr(found, f"{wanted.product}_version")
    number = tuple(int(part) for part in text.split("."))
    return wanted.since <= number < wanted.until


def where_had(found: Mapping[object, float], feature: str) -> dict[object, float]:
    """What is expected of a feature: nothing where it is lacking."""
    return dict(found) if has(feature) else {}


def needs(feature: str) -> pytest.MarkDecorator:
    """Marks a test of a feature that not every version has."""
    assert feature in FEATURES
    return pytest.mark.needs(feature)


def lacking(item: pytest.Item) -> str | None:
    """The feature that a test needs and this run's versions lack; None when they have all."""
    marked = [mark.args[0] for mark in item.iter_markers("needs")]
    return next((feature for feature in marked if not has(feature)), None)
