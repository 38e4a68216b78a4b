"""Kafka's files: properties of controllers and brokers, and what formatting a log directory would write."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping

from drills.lab import kafka_security
from drills.lab.keys import Keys
from drills.lab.ports import Ports

NODES = (1, 2, 3)
FIRST_CONTROLLER_ID = 100  # controllers are 101 to 103, brokers 1 to 3

COMMON = {
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    # a new topic's minimum comes from the controllers' files: with eligible leader replicas nobody asks the brokers'
    "min.insync.replicas": "2",
    "default.replication.factor": "3",
    "auto.create.topics.enable": "false",
    "share.coordinator.state.topic.min.isr": "2",
    # the defaults (2 s, 2 s, 1 s) let a busy machine elect one controller after another and none for long
    "controller.quorum.fetch.timeout.ms": "4000",
    "controller.quorum.request.timeout.ms": "4000",
    "controller.quorum.election.timeout.ms": "2000",
    "num.network.threads": "2",
    "num.io.threads": "4",
}

BROKER = {
    "process.roles": "broker",
    "inter.broker.listener.name": "PLAINTEXT",
    "num.partitions": "1",
    "offsets.topic.num.partitions": "12",
    "offsets.retention.check.interval.ms": "5000",
    "transaction.state.log.num.partitions": "12",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    "share.coordinator.state.topic.num.partitions": "6",
    "initial.broker.registration.timeout.ms": "300000",  # on a busy machine the controllers may take a minute
    "replica.lag.time.max.ms": "10000",
    # groups: react at once, so that a test need not wait for a timer meant for production
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.session.timeout.ms": "3000",
    "group.consumer.min.heartbeat.interval.ms": "500",
    "group.consumer.heartbeat.interval.ms": "1000",
    "group.share.min.session.timeout.ms": "3000",
    "group.share.min.heartbeat.interval.ms": "500",
    "group.share.heartbeat.interval.ms": "1000",
    "group.streams.min.session.timeout.ms": "3000",
    "group.streams.min.heartbeat.interval.ms": "500",
    "group.streams.heartbeat.interval.ms": "1000",
    # retention and compaction within seconds
    "log.initial.task.delay.ms": "500",
    "log.retention.check.interval.ms": "1000",
    "log.segment.delete.delay.ms": "1000",
    "log.cleaner.backoff.ms": "500",
    "log.cleaner.dedupe.buffer.size": "8388608",  # the default, 128 MiB, is half of a lab broker's heap
}


def uuid() -> str:
    """A new Kafka id: 16 random bytes in URL-safe base64, unpadded; never '-' first, which tools take for an option."""
    while True:
        text = base64.urlsafe_b64encode(os.urandom(16)).decode().rstrip("=")
        if not text.startswith("-"):
            return text


def controller_id(number: int) -> int:
    """Node id of a controller."""
    return FIRST_CONTROLLER_ID + number


def controller_properties(ports: Ports, number: int, log_dir: str, keys: Keys | None = None) -> str:
    """The file of one controller."""
    return _text(
        {
            "process.roles": "controller",
            "node.id": str(controller_id(number)),
            "listeners": f"CONTROLLER://127.0.0.1:{ports.controller(number)}",
            "advertised.listeners": f"CONTROLLER://127.0.0.1:{ports.controller(number)}",
            "controller.quorum.bootstrap.servers": _quorum(ports),
            "log.dirs": log_dir,
            **COMMON,
            **(kafka_security.common(keys) if keys else {}),
        }
    )


def broker_properties(ports: Ports, number: int, log_dirs: list[str], keys: Keys | None = None) -> str:
    """The file of one broker."""
    return _text(
        {
            "node.id": str(number),
            "listeners": f"PLAINTEXT://127.0.0.1:{ports.broker(number)}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{ports.broker(number)}",
            "controller.quorum.bootstrap.servers": _quorum(ports),
            "log.dirs": ",".join(log_dirs),
            **COMMON,
            **BROKER,
            **(kafka_security.common(keys) | kafka_security.broker(ports, number) if keys else {}),
        }
    )


def combined_properties(client: int, controller: int, log_dir: str) -> str:
    """The file of a node that is broker and controller in one, on two ports."""
    return _text(
        {
            "process.roles": "broker,controller",
            "node.id": "1",
            "listeners": f"PLAINTEXT://127.0.0.1:{client},CONTROLLER://127.0.0.1:{controller}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller}",
            "log.dirs": log_dir,
        }
    )


def initial_controllers(ports: Ports, directory_ids: tuple[str, str, str]) -> str:
    """The voters of the first quorum, as the format tool wants them: id@host:port:directory id, joined by commas."""
    return ",".join(f"{controller_id(n)}@127.0.0.1:{ports.controller(n)}:{directory_ids[n - 1]}" for n in NODES)


def meta_properties(node_id: int, cluster_id: str, directory_id: str) -> str:
    """What formatting writes into every log directory (version 1)."""
    return _text({"version": "1", "cluster.id": cluster_id, "node.id": str(node_id), "directory.id": directory_id})


def _quorum(ports: Ports) -> str:
    return ",".join(f"127.0.0.1:{ports.controller(number)}" for number in NODES)


def _text(properties: Mapping[str, str]) -> str:
    return "".join(f"{key}={value}\n" for key, value in properties.items())
