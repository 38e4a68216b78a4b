"""docs/permissions.md: what each right is for, from the rows that tests on real brokers prove. `--write` writes it."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from drills.lab.kafka_security import MONITOR_RIGHTS, Right
from exporter.clients.kafka import rights as named
from exporter.clients.rabbitmq.failures import hidden_vhost, no_monitor
from tests.written_page import write_or_print

PAGE = Path(__file__).parents[1] / "docs" / "permissions.md"
USER = "probe"
TOPIC, DEAD, OPEN, REJECTS = "orders", "orders.DLQ", "orders.open", "orders.rejects"
GROUP, SHARE = "billing", "shared"
VHOST = "shop"
NOT_HERE = frozenset({"mq_expected_brokers", "mq_expected_group", "mq_expected_nodes",
                      "mq_kafka_group_age_error_bound_seconds",
                      "mq_objective_backlog_messages", "mq_objective_unacknowledged_messages"})  # fmt: skip
"""Families that say something of Kafka only where something was configured, or is not known exactly; or never."""
Said = dict[tuple[str, str], tuple[str, ...]]


@dataclass(frozen=True)
class Telling:
    """One line that the exporter says: which collectors, about what, and the line."""

    collectors: tuple[str, ...]
    item: str
    line: str


@dataclass(frozen=True)
class KafkaRow:
    """A user whose `rights` are on all resources, but for topics that are `hidden` by a rule that denies Describe.

    `lost` are families of which something is missing beside the least rights (`*` stands for any end), `gained` those
    that are there for that reason, and `said` is all that the exporter says.
    """

    name: str
    rights: tuple[Right, ...] = MONITOR_RIGHTS
    hidden: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    gained: tuple[str, ...] = ()
    said: tuple[Telling, ...] = ()


def without(*operations: str) -> tuple[Right, ...]:
    """The least rights without these."""
    return tuple(right for right in MONITOR_RIGHTS if str(right) not in operations)


def told(row: KafkaRow) -> Said:
    """What is said, as the tests find it."""
    return {(one.item, one.line): one.collectors for one in row.said}


def telling(right: named.Right, *collectors: str, kind: str = "", names: tuple[str, ...] = ()) -> Telling:
    """The line about a missing right."""
    item = named.item(kind, names) if kind else named.CLUSTER
    return Telling(collectors, item, right.failure(names).detail)


ASSIGNED = Telling(("groups",), f"group {SHARE}", named.DESCRIBE_ASSIGNED.failure().detail)
NO_CLUSTER = telling(named.DESCRIBE_CLUSTER, "brokers", "groups", "log_dirs", "quorum")
CLUSTER_LOST = (
    "mq_kafka_log_dir_*", "mq_disk_*", "mq_kafka_quorum_*", "mq_kafka_controller", "mq_clock_offset_seconds",
)  # fmt: skip
LAGS_LOST = (
    "mq_kafka_group_committed_offset", "mq_kafka_group_lag_offsets", "mq_kafka_group_oldest_message_age_seconds",
    "mq_kafka_group_partition*", "mq_kafka_group_topic_*", "mq_kafka_group_retention_used_ratio",
    "mq_kafka_group_lost_offsets_total", "mq_kafka_group_offset_rewinds_total", "mq_objective_lag_*",
)  # fmt: skip
MEMBERS_LOST = ("mq_kafka_group_members*",)
TOPIC_LOST = ("mq_kafka_topic_*", "mq_kafka_partition_*")
READ, DESCRIBE = "Read on Topic", Right("Describe", "Topic")
KAFKA = (
    KafkaRow("nothing"),
    KafkaRow("Describe on Cluster", without("Describe on Cluster"), lost=CLUSTER_LOST, said=(NO_CLUSTER,)),
    KafkaRow(
        "Read on Topic, with Describe instead",
        (*without(READ), DESCRIBE),
        gained=("mq_kafka_group_age_error_bound_seconds",),
        said=(telling(named.READ_TOPIC, "ages", kind="topic", names=(TOPIC,)),),
    ),
    KafkaRow(
        "Read and Describe on Topic",
        without(READ),
        lost=(*TOPIC_LOST, "mq_dlq_*", "mq_objective_dlq_*", *LAGS_LOST, *MEMBERS_LOST),
        said=(
            telling(named.DESCRIBE_TOPIC, "topics", kind="topic", names=(TOPIC, DEAD, OPEN, REJECTS)),
            ASSIGNED,
        ),
    ),
    KafkaRow(
        "Describe on some topics",
        hidden=(TOPIC, OPEN),
        lost=(*TOPIC_LOST, *LAGS_LOST, *MEMBERS_LOST, "mq_dlq_source_info"),
        said=(telling(named.DESCRIBE_TOPIC, "topics", kind="topic", names=(TOPIC, OPEN)), ASSIGNED),
    ),
    KafkaRow(
        "DescribeConfigs on Topic",
        without("DescribeConfigs on Topic"),
        lost=("mq_kafka_partition_min_in_sync_replicas", "mq_kafka_partition_under_min_isr", "mq_kafka_topic_info",
              "mq_dlq_time_to_deletion_seconds", "mq_dlq_source_info"),
        said=(
            telling(named.DESCRIBE_TOPIC_CONFIGS, "topic_configs", kind="topic", names=(TOPIC, DEAD, OPEN, REJECTS)),
        ),
    ),
    KafkaRow(
        "Describe on Group",
        without("Describe on Group"),
        lost=(*LAGS_LOST, *MEMBERS_LOST, "mq_dlq_unhandled_messages", "mq_dlq_oldest_message_age_seconds",
              "mq_dlq_time_to_deletion_seconds"),
        said=(telling(named.DESCRIBE_GROUP, "groups", "commits", kind="group", names=(GROUP, SHARE)),),
    ),
    KafkaRow(
        "DescribeConfigs on Group",
        without("DescribeConfigs on Group"),
        lost=("mq_dlq_source_info",),
        said=(telling(named.DESCRIBE_GROUP_CONFIGS, "topic_configs", kind="group", names=(SHARE,)),),
    ),
    KafkaRow(
        "any right",
        (),
        lost=(*CLUSTER_LOST, *TOPIC_LOST, "mq_dlq_*", "mq_kafka_group_*", "mq_objective_*"),
        said=(NO_CLUSTER, Telling(("topics",), "topics", named.DESCRIBE_TOPICS.failure().detail)),
    ),
)  # fmt: skip


@dataclass(frozen=True)
class RabbitRow:
    """A user with these tags, and a permission (`^$`: to look, and to touch nothing) on these vhosts."""

    name: str
    tags: str = "monitoring"
    vhosts: tuple[str, ...] = ("/", VHOST)
    lost: tuple[str, ...] = ()
    said: tuple[Telling, ...] = ()


ANY_ADDRESS = "URL"
"""Stands for the management URL of the node that was asked."""
NODES_LOST = (
    "mq_rabbitmq_node_*", "mq_disk_*", "mq_clock_offset_seconds", "mq_rabbitmq_connections",
    "mq_rabbitmq_dead_lettered_total", "mq_rabbitmq_unroutable_total",
)  # fmt: skip
VHOST_LOST = ("mq_rabbitmq_queue_*", "mq_rabbitmq_stream_*", "mq_dlq_*", "mq_objective_*")
TAG = "the user lacks the `monitoring` tag (rabbitmqctl set_user_tags USER monitoring)"
MANAGEMENT = "management API"
RABBITMQ = (
    RabbitRow("nothing"),
    RabbitRow(
        "a permission on a vhost",
        vhosts=("/",),
        lost=VHOST_LOST,
        said=(Telling(("queues",), f"vhost {VHOST}", hidden_vhost(VHOST, USER).detail),),
    ),
    RabbitRow(
        "the tag `monitoring`, with `management` instead",
        tags="management",
        lost=(*NODES_LOST, "mq_rabbitmq_queue_leader_available"),
        said=(
            Telling(("nodes",), MANAGEMENT, f"{ANY_ADDRESS}: /api/nodes: {TAG}"),
            Telling(("connections", "node_metrics"), MANAGEMENT, no_monitor().detail),
        ),
    ),
    RabbitRow(
        "any tag",
        tags="",
        lost=(*NODES_LOST, *VHOST_LOST),
        said=(
            Telling(
                ("overview", "nodes", "queues", "connections", "node_metrics", "topology"),
                MANAGEMENT,
                f"{ANY_ADDRESS}: /api/overview: {TAG}",
            ),
        ),
    ),
)
HEAD = """\
# Permissions

The least rights with which the exporter sees everything, and what is missing without each of them. Every row is a
test on real brokers (`tests/broker/secure`) that takes that one right away, and compares all that is lost and all that
is said.

Neither broker answers a user without rights with an error where a list is asked for: the list is shorter, or empty. So
the exporter asks what it may do, and for what it knows of by another way, and says it:
`mq_exporter_collector_errors_total{kind="authorization"}`, one line in the log, and one on the status page, with the
command that gives the right. `USER` in those commands stands for the exporter's user.

Written by `python -m tests.permissions --write`; do not edit.

## Kafka

```sh
"""
KAFKA_AFTER = """\
```

- `Read` on topics includes `Describe`. It is for exact ages alone: with `ages: estimate`, give `Describe` instead.
- `DescribeConfigs` on groups is for the dead-letter topics of share groups (KIP-1191) alone.
- Rights on single names or prefixes (`--topic orders --resource-pattern-type prefixed`) do as well. Then narrow
  `topics:` and `groups:` to the same names; names without a pattern are asked for one by one, and told when hidden.
- **What can't be known**: a topic or group that the user may not describe is in no list. Topics are found nevertheless
  where the user may describe the cluster, because log directories name all topics. Without that right, and for groups
  that are not named in the configuration, nothing shows that there is more: the `cluster` line says so.

"""
RABBIT_HEAD = """\

## RabbitMQ

```sh
rabbitmqctl add_user mq-exporter            # asks for the password
rabbitmqctl set_user_tags mq-exporter monitoring
rabbitmqctl list_vhosts --silent | while read -r vhost; do
  rabbitmqctl set_permissions -p "$vhost" mq-exporter '^$' '^$' '^$'
done
```

- `^$` lets the user see a vhost, and neither read, write nor configure anything in it. A new vhost needs it too.
- A vhost without a permission is named where the user has the tag `monitoring`, or where `vhosts:` names it. With the
  tag `management` alone other vhosts can't be seen.
- `administrator` is not needed, `guest` works from the broker's own host alone.

"""
CLI = """\

### The command line (`cli:`)

Exact ages of quorum queues, and stored offsets of streams, come from `rabbitmqctl eval`. Whoever has the Erlang cookie
has full power over the cluster: it is left out unless configured, and the exporter's user needs to read the cookie (or
to run the command by `sudo`).

| what is wrong | what the exporter says |
| --- | --- |
"""
CLI_WRONG = {
    "another cookie than the node's": "the node refuses its Erlang cookie: give the node's own by HOME in `cli_env`",
    "no right to run it": "it wants root, the user rabbitmq, or a readable Erlang cookie: run it by sudo in `cli`",
}


def page() -> str:
    """docs/permissions.md."""
    return "".join([HEAD, *_commands(), KAFKA_AFTER, *_table(KAFKA), RABBIT_HEAD, *_table(RABBITMQ), CLI, *_cli()])


def _commands() -> Iterable[str]:
    for right in MONITOR_RIGHTS:
        where = "--cluster" if right.resource == "Cluster" else f"--{right.resource.lower()} '*'"
        allow = "--add --allow-principal User:mq-exporter"
        yield f"kafka-acls --bootstrap-server BROKER:9092 --command-config admin.properties {allow} \\\n"
        yield f"  --operation {right.operation} {where}\n"


def _table(rows: Iterable[KafkaRow | RabbitRow]) -> Iterable[str]:
    yield "| without | something is missing of | what the exporter says |\n| --- | --- | --- |\n"
    for row in rows:
        lost = ", ".join(f"`{name}`" for name in row.lost) or "nothing"
        gained = ", ".join(f"`{name}`" for name in getattr(row, "gained", ()))
        said = "<br>".join(f"`{one.item}: {one.line}` ({', '.join(one.collectors)})" for one in row.said)
        also = f"; instead there is {gained}" if gained else ""
        yield f"| {row.name} | {lost}{also} | {said.replace('|', chr(92) + '|') or 'nothing'} |\n"


def _cli() -> Iterable[str]:
    return [f"| {what} | `{line}` |\n" for what, line in CLI_WRONG.items()]


if __name__ == "__main__":
    sys.exit(write_or_print(PAGE, page, sys.argv[1:]))
