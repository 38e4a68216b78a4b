"""Every Kafka subject's samples from one small snapshot, written out whole."""

from __future__ import annotations

from dataclasses import replace

import pytest

from exporter.metrics import (
    expected,
    kafka_brokers,
    kafka_group_offsets,
    kafka_group_states,
    kafka_group_topics,
    kafka_groups,
    kafka_partitions,
    kafka_quorum,
    kafka_replicas,
    kafka_topics,
    kafka_transactions,
)
from exporter.model.common import Expected
from exporter.model.kafka import Group, GroupTopic, KafkaSnapshot, LogDir, Quorum, Topic, TopicSettings

ORDERS = Topic(
    name="orders",
    topic_id="UsUvx4opSj6S6WRyRKKQFw",
    internal=False,
    partitions=(0, 1),
    labels=(("orders", "0"), ("orders", "1")),
    leaders=(11, -1),
    replicas=(3, 3),
    in_sync=(3, 1),
    log_starts=(5, None),
    last_stables=(90, None),
    high_watermarks=(100, None),
    settings=TopicSettings(2, "delete", "CreateTime", 604800.0),
    open_transactions={0: 12.5},
)
EMPTY = replace(
    ORDERS,
    name="empty",
    topic_id="",
    partitions=(0,),
    labels=(("empty", "0"),),
    leaders=(11,),
    replicas=(1,),
    in_sync=(1,),
    log_starts=(0,),
    last_stables=(0,),
    high_watermarks=(0,),
    settings=None,
    open_transactions={},
)
BILLING = GroupTopic(
    topic="orders",
    labels=(("billing", "orders", "0"), ("billing", "orders", "1")),
    partitions=(0, 1),
    committed=(81, 7),
    lags=(19, None),
    ages=(30.5, None),
    error_bounds={0: 1.5},
    retention_used={0: 0.2},
    states={1: "unreadable"},
    counts={"ok": 1, "unreadable": 1},
    lost=4,
    rewinds=1,
)
OLD = replace(BILLING, labels=(("old", "orders", "0"), ("old", "orders", "1")))
SNAPSHOT = KafkaSnapshot(
    cluster="c",
    system="kafka",
    taken_at=1000.0,
    interval_seconds=15.0,
    brokers={11: True, 12: False},
    log_dirs=(LogDir(11, "/a", False, 10, 1000, 400), LogDir(11, "/b", True, None, None, None)),
    quorum=Quorum(3, 14, 3, {1: 0, 3: 0}),
    topics=(ORDERS, EMPTY),
    groups=(
        Group("billing", "consumer", "stable", 2, 1, (BILLING,)),
        Group("old", "classic", "empty", 0, 0, (OLD,), abandoned=True),
        Group("bare", "share", "preparing_rebalance", None, None),
    ),
    expected=Expected(3, None, ("billing", "ghost")),
)


def named(measured):  # type: ignore[no-untyped-def]
    return {family.name: samples for family, samples in measured.items()}


def test_partitions() -> None:
    assert named(kafka_partitions.measure(SNAPSHOT)) == {
        "mq_kafka_partition_log_start_offset": {("orders", "0"): 5, ("empty", "0"): 0},
        "mq_kafka_partition_high_watermark_offset": {("orders", "0"): 100, ("empty", "0"): 0},
        "mq_kafka_partition_last_stable_offset": {("orders", "0"): 90, ("empty", "0"): 0},
    }


def test_replicas() -> None:
    assert named(kafka_replicas.measure(SNAPSHOT)) == {
        "mq_kafka_partition_replicas": {("orders", "0"): 3, ("orders", "1"): 3, ("empty", "0"): 1},
        "mq_kafka_partition_in_sync_replicas": {("orders", "0"): 3, ("orders", "1"): 1, ("empty", "0"): 1},
        "mq_kafka_partition_min_in_sync_replicas": {("orders", "0"): 2, ("orders", "1"): 2},
        "mq_kafka_partition_offline": {("orders", "0"): 0, ("orders", "1"): 1, ("empty", "0"): 0},
        "mq_kafka_partition_under_min_isr": {("orders", "0"): 0, ("orders", "1"): 1},
    }


def test_transactions() -> None:
    assert named(kafka_transactions.measure(SNAPSHOT)) == {
        "mq_kafka_partition_open_transaction_seconds": {("orders", "0"): 12.5}
    }


def test_topics() -> None:
    assert named(kafka_topics.measure(SNAPSHOT)) == {
        "mq_kafka_topic_partitions": {("orders",): 2, ("empty",): 1},
        "mq_kafka_topic_info": {
            ("orders", "UsUvx4opSj6S6WRyRKKQFw", "delete", "CreateTime"): 1,
            ("empty", "", "", ""): 1,
        },
    }


def test_group_offsets_leave_out_abandoned_groups_and_unknown_numbers() -> None:
    first = ("billing", "orders", "0")
    assert named(kafka_group_offsets.measure(SNAPSHOT)) == {
        "mq_kafka_group_committed_offset": {first: 81, ("billing", "orders", "1"): 7},
        "mq_kafka_group_lag_offsets": {first: 19},
        "mq_kafka_group_oldest_message_age_seconds": {first: 30.5},
        "mq_kafka_group_age_error_bound_seconds": {first: 1.5},
    }


def test_group_states() -> None:
    assert named(kafka_group_states.measure(SNAPSHOT)) == {
        "mq_kafka_group_partition_state": {("billing", "orders", "1", "unreadable"): 1},
        "mq_kafka_group_partitions": {
            ("billing", "orders", "ok"): 1,
            ("billing", "orders", "unreadable"): 1,
            ("old", "orders", "ok"): 1,
            ("old", "orders", "unreadable"): 1,
        },
    }


def test_group_topics() -> None:
    both = [("billing", "orders"), ("old", "orders")]
    assert named(kafka_group_topics.measure(SNAPSHOT)) == {
        "mq_kafka_group_topic_lag_offsets": dict.fromkeys(both, 19),
        "mq_kafka_group_topic_oldest_message_age_seconds": dict.fromkeys(both, 30.5),
        "mq_kafka_group_topic_retention_used_ratio": dict.fromkeys(both, 0.2),
        "mq_kafka_group_topic_hottest_partition_ratio": dict.fromkeys(both, 1.0),
        "mq_kafka_group_retention_used_ratio": {("billing", "orders", "0"): 0.2},
        "mq_kafka_group_lost_offsets_total": dict.fromkeys(both, 4),
        "mq_kafka_group_offset_rewinds_total": dict.fromkeys(both, 1),
    }


@pytest.mark.parametrize(
    ("module", "kept"),
    [
        (kafka_group_offsets, []),
        (kafka_group_states, ["mq_kafka_group_partitions"]),
        (
            kafka_group_topics,
            [
                "mq_kafka_group_lost_offsets_total",
                "mq_kafka_group_offset_rewinds_total",
                "mq_kafka_group_topic_hottest_partition_ratio",
                "mq_kafka_group_topic_lag_offsets",
                "mq_kafka_group_topic_oldest_message_age_seconds",
                "mq_kafka_group_topic_retention_used_ratio",
            ],
        ),
    ],
)
def test_granularity_topic_drops_what_is_per_partition(module, kept: list[str]) -> None:  # type: ignore[no-untyped-def]
    measured = named(module.measure(replace(SNAPSHOT, granularity="topic")))
    assert sorted(name for name, samples in measured.items() if samples) == kept


def test_groups() -> None:
    assert named(kafka_groups.measure(SNAPSHOT)) == {
        "mq_kafka_group_members": {("billing",): 2, ("old",): 0},
        "mq_kafka_group_members_idle": {("billing",): 1, ("old",): 0},
        "mq_kafka_group_state": {
            ("billing", "stable"): 1,
            ("old", "empty"): 1,
            ("bare", "preparing_rebalance"): 1,
        },
        "mq_kafka_group_info": {("billing", "consumer"): 1, ("old", "classic"): 1, ("bare", "share"): 1},
    }


def test_brokers() -> None:
    assert named(kafka_brokers.measure(SNAPSHOT)) == {
        "mq_kafka_broker_up": {("11",): 1, ("12",): 0},
        "mq_kafka_log_dir_used_bytes": {("11", "/a"): 10},
        "mq_kafka_log_dir_total_bytes": {("11", "/a"): 1000},
        "mq_kafka_log_dir_usable_bytes": {("11", "/a"): 400},
        "mq_kafka_log_dir_offline": {("11", "/a"): 0, ("11", "/b"): 1},
    }


def test_quorum() -> None:
    assert named(kafka_quorum.measure(SNAPSHOT)) == {
        "mq_kafka_controller": {("3",): 1},
        "mq_kafka_quorum_voters": {(): 3},
        "mq_kafka_quorum_voter_lag_offsets": {("1",): 0, ("3",): 0},
        "mq_kafka_quorum_leader_epoch": {(): 14},
    }
    assert kafka_quorum.measure(replace(SNAPSHOT, quorum=None)) == {}


def test_expected() -> None:
    assert named(expected.measure(SNAPSHOT)) == {
        "mq_expected_brokers": {(): 3},
        "mq_expected_nodes": {},
        "mq_expected_group": {("billing",): 1, ("ghost",): 1},
    }
