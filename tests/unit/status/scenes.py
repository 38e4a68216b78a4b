"""Clusters in the states that the status page has to show, built from literals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from exporter.metrics.family import Family, Samples
from exporter.model.common import (
    ClusterSnapshot,
    CollectorRun,
    DeadLetterQueue,
    DeadLetterSource,
    Disk,
    Kind,
    Problem,
)
from exporter.status.facts import Facts

NOW = 1_800_000_000.0
GIB = 1024**3
WITHHELD = {"unreadable_group": 1, "abandoned_group": 14}
GROUP = ("group", "topic", "partition")
TOPIC = ("group", "topic")
QUEUE = ("vhost", "queue", "type", "role")


def families(**samples: tuple[tuple[str, ...], Samples]) -> Mapping[str, tuple[Family, Samples]]:
    """`families(kafka_broker_up=(("broker",), {("1",): 1}))`: samples by family name, without its prefix."""
    return {
        f"mq_{name}": (Family(f"mq_{name}", "gauge", "help", labels), values)
        for name, (labels, values) in samples.items()
    }


def run(name: str, *problems: Problem, skipped: Mapping[str, int] | None = None) -> CollectorRun:
    failed = any(problem.kind is not Kind.UNSUPPORTED for problem in problems)
    return CollectorRun(name, not failed, NOW - 4, 0.2, 15.0, problems, skipped or {})


def calm_kafka() -> Facts:
    snapshot = ClusterSnapshot(
        "orders", "kafka", NOW - 4, 15.0,
        runs=(run("topics"), run("groups"), run("log_dirs")),
        endpoints={"kafka-1:9092": True, "kafka-2:9092": True, "kafka-3:9092": True},
        disks=tuple(Disk(str(node), "/var/lib/kafka", 120 * GIB, 25 * GIB, False) for node in (1, 2, 3)),
        dead_letter_queues=(DeadLetterQueue("orders.dlq", "", 0, 0, 0.0, None, 12),),
    )  # fmt: skip
    measured = families(
        kafka_broker_up=(("broker",), {("1",): 1, ("2",): 1, ("3",): 1}),
        kafka_group_topic_lag_offsets=(TOPIC, {("billing", "payments"): 0}),
        kafka_group_oldest_message_age_seconds=(GROUP, {("billing", "payments", "0"): 0}),
    )
    return Facts("orders", "kafka", 15.0, snapshot, True, measured)


def calm_rabbitmq() -> Facts:
    snapshot = ClusterSnapshot(
        "tasks", "rabbitmq", NOW - 9, 15.0,
        runs=(run("overview"), run("nodes"), run("queues")),
        endpoints={"http://rabbit-1:15672": True},
        disks=(Disk("rabbit@rabbit-1", "/var/lib/rabbitmq", 40 * GIB, 2 * GIB, False),),
        dead_letter_queues=(DeadLetterQueue("tasks.dead", "/", 0, 0, 0.0, None, 3),),
    )  # fmt: skip
    measured = families(
        rabbitmq_node_up=(("node",), {("rabbit@rabbit-1",): 1, ("rabbit@rabbit-2",): 1, ("rabbit@rabbit-3",): 1}),
        rabbitmq_queue_messages_ready=(QUEUE, {("/", "mail", "quorum", "work"): 0}),
        rabbitmq_queue_messages_unacknowledged=(QUEUE, {("/", "mail", "quorum", "work"): 0}),
    )
    return Facts("tasks", "rabbitmq", 15.0, snapshot, True, measured)


def troubled_kafka() -> Facts:
    """A broker down, a full disk, a hot partition, an open transaction, dead letters, a group without rights."""
    calm = calm_kafka()
    assert calm.snapshot is not None
    denied = Problem(
        Kind.AUTHORIZATION,
        "group payroll",
        "group payroll: no right to read its offsets; grant Describe on the group to the exporter's user",
    )
    silent = Problem(
        Kind.TIMEOUT,
        "broker 3 (kafka-3:9092)",
        "no answer within 5.0 s to ListOffsets; is the process paused or the disk hanging?",
    )
    snapshot = replace(
        calm.snapshot,
        runs=(run("topics"), run("offsets", silent), run("groups", denied, skipped=WITHHELD)),
        endpoints={"kafka-1:9092": True, "kafka-2:9092": True, "kafka-3:9092": False},
        disks=(
            Disk("1", "/var/lib/kafka", 3 * GIB + 200_000_000, 25 * GIB, True),
            Disk("2", "/var/lib/kafka", 61 * GIB, 25 * GIB, False),
            Disk("3", "/var/lib/kafka", None, None, None),
        ),
        dead_letter_queues=(
            DeadLetterQueue("orders.dlq", "", 1893, 41, 8412.0, 518_400.0, 1893),
            DeadLetterQueue("payments.DLT", "", 3, None, None, None, 3),
        ),
        dead_letter_sources=(DeadLetterSource("orders.dlq", "", "orders", "connect"),),
    )  # fmt: skip
    lags = {
        ("billing", "payments"): 1_284_220, ("search-indexer", "product-changes"): 88_412, ("mailer", "orders"): 512,
        ("audit", "orders"): 77, ("warehouse", "a-topic-with-quite-a-long-name.and.dots_and_underscores-v2"): 12,
    }  # fmt: skip
    ages = {
        ("billing", "payments", "11"): 7511.4, ("billing", "payments", "3"): 12.0, ("mailer", "orders", "0"): 41.2,
        ("search-indexer", "product-changes", "5"): 192.0, ("audit", "orders", "2"): 3.4,
    }  # fmt: skip
    measured = families(
        kafka_broker_up=(("broker",), {("1",): 1, ("2",): 1, ("3",): 0}),
        expected_brokers=((), {(): 3}),
        kafka_group_topic_lag_offsets=(TOPIC, lags),
        kafka_group_oldest_message_age_seconds=(GROUP, ages),
        kafka_group_age_error_bound_seconds=(GROUP, {("search-indexer", "product-changes", "5"): 14.0}),
        kafka_partition_under_min_isr=(("topic", "partition"), {("payments", "11"): 1, ("payments", "3"): 0}),
        kafka_partition_open_transaction_seconds=(
            ("topic", "partition"),
            {("payments", "7"): 1325.0, ("orders", "1"): 0.4},
        ),
        kafka_group_partitions=(
            ("group", "topic", "state"),
            {("billing", "payments", "ok"): 11, ("billing", "payments", "below_log_start"): 1},
        ),
    )
    return Facts("orders", "kafka", 15.0, snapshot, True, measured)


def troubled_rabbitmq() -> Facts:
    """Alarms, a node down, blocked publishers, dead letters that are thrown away."""
    calm = calm_rabbitmq()
    assert calm.snapshot is not None
    snapshot = replace(
        calm.snapshot,
        disks=(
            Disk("rabbit@rabbit-1", "/var/lib/rabbitmq", 1_900_000_000, 2 * GIB, True),
            Disk("rabbit@rabbit-2", "/var/lib/rabbitmq", 40 * GIB, 2 * GIB, False),
        ),
        dead_letter_queues=(DeadLetterQueue("tasks.dead", "/", 7, 7, 95.0, None, 10),),
        dead_letter_sources=(
            DeadLetterSource("tasks.dead", "/", "mail", "policy"),
            DeadLetterSource("", "/", "thumbnails", "dropped"),
        ),
    )
    work = ("quorum", "work")
    measured = families(
        rabbitmq_node_up=(("node",), {("rabbit@rabbit-1",): 1, ("rabbit@rabbit-2",): 1, ("rabbit@rabbit-3",): 0}),
        rabbitmq_node_memory_alarm=(("node",), {("rabbit@rabbit-1",): 0, ("rabbit@rabbit-2",): 1}),
        rabbitmq_node_memory_used_bytes=(("node",), {("rabbit@rabbit-2",): 3.3 * GIB}),
        rabbitmq_node_memory_limit_bytes=(("node",), {("rabbit@rabbit-2",): 3.2 * GIB}),
        rabbitmq_queue_messages_ready=(QUEUE, {("/", "mail", *work): 5400, ("shop", "thumbnails", *work): 31}),
        rabbitmq_queue_messages_unacknowledged=(QUEUE, {("/", "mail", *work): 250, ("shop", "thumbnails", *work): 0}),
        rabbitmq_queue_oldest_message_age_seconds=(QUEUE, {("/", "mail", *work): 640.0}),
        rabbitmq_connections=(
            ("node", "state"),
            {("rabbit@rabbit-2", "running"): 12, ("rabbit@rabbit-2", "blocked"): 3},
        ),
        rabbitmq_stream_consumer_lag_offsets=(("vhost", "queue", "consumer"), {("/", "events", "archiver"): 40}),
    )
    return Facts("tasks", "rabbitmq", 15.0, snapshot, True, measured)


def stale(facts: Facts) -> Facts:
    assert facts.snapshot is not None
    return replace(facts, snapshot=replace(facts.snapshot, taken_at=NOW - 312), fresh=False, families={})


def waiting(name: str) -> Facts:
    return Facts(name, "kafka", 15.0, None, False)
