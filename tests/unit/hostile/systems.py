"""The two systems as the sieges drive them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from exporter.clients.kafka.reader import KafkaReader
from exporter.clients.rabbitmq.reader import RabbitReader
from exporter.clients.reader import Reader
from exporter.config.model import Kafka, RabbitMQ
from tests.unit.hostile import kafka_peer, rabbitmq_peer, recordings

TIMEOUT = 1.0


@dataclass(frozen=True)
class System:
    """`first`: what a poll begins with; `others`: what else it asks. `facts`: families that the recording has."""

    cluster: Callable[[int], AbstractContextManager[Any]]
    section: Callable[[], Kafka | RabbitMQ]
    reader: Callable[[Any], Reader]
    first: frozenset[Any]
    others: list[Any]
    facts: tuple[str, ...]


def kafka() -> System:
    recording, first = recordings.kafka(), frozenset({3, 18})  # Metadata, ApiVersions: without them nothing is asked
    return System(
        lambda seed: kafka_peer.cluster(recording, seed),
        lambda: Kafka(bootstrap_servers=recording.bootstrap, timeout=TIMEOUT, slow_interval=0.001),
        KafkaReader,
        first,
        sorted({key for _, key, _ in recording.any} - first),
        (
            "mq_kafka_group_committed_offset",
            "mq_kafka_group_lag_offsets",
            "mq_kafka_partition_high_watermark_offset",
            "mq_kafka_partition_log_start_offset",
            "mq_kafka_partition_in_sync_replicas",
            "mq_kafka_group_members",
            "mq_kafka_broker_up",
            "mq_kafka_controller",
            "mq_kafka_log_dir_used_bytes",
            "mq_dlq_depth_messages",
        ),
    )


def rabbitmq() -> System:
    recording, first = recordings.rabbitmq(), frozenset({"/api/overview"})  # without it little more is asked
    return System(
        lambda seed: rabbitmq_peer.cluster(recording, seed),
        lambda: RabbitMQ(urls=recording.urls, timeout=TIMEOUT, slow_interval=0.001),
        RabbitReader,
        first,
        sorted({urlsplit(url).path for url in recording.answers} - first),
        (
            "mq_rabbitmq_queue_messages_ready",
            "mq_rabbitmq_queue_messages_unacknowledged",
            "mq_rabbitmq_queue_consumers",
            "mq_rabbitmq_queue_replicas_online",
            "mq_rabbitmq_stream_retained_messages",
            "mq_rabbitmq_node_up",
            "mq_rabbitmq_node_memory_used_bytes",
            "mq_rabbitmq_connections",
            "mq_dlq_depth_messages",
            "mq_disk_free_bytes",
        ),
    )


SYSTEMS = {"kafka": kafka, "rabbitmq": rabbitmq}
