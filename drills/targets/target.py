"""The interface of a target, and its addresses. `lab.py` is the first kind of it; ssh, docker, kubectl may follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from drills.lab.node import Condition


class TargetError(Exception):
    """The target could not do what was asked; the text says what happened and what to do."""


@dataclass(frozen=True, slots=True)
class RabbitAddress:
    """One RabbitMQ node. `name`: the target's name for it; `inside`: RabbitMQ's own (`/api/nodes`)."""

    name: str
    inside: str
    url: str  # of the management API, without a login
    host: str
    amqp_port: int


@dataclass(frozen=True, slots=True)
class RabbitAddresses:
    """How to reach RabbitMQ, in the order of the nodes, as one who may do everything. `ca_file`: None without TLS."""

    nodes: Sequence[RabbitAddress]
    user: str
    password: str = field(repr=False)
    ca_file: str | None = None

    @property
    def urls(self) -> list[str]:
        """The management API of each node."""
        return [node.url for node in self.nodes]

    def node(self, name: str) -> RabbitAddress:
        """A node by the target's name for it, or by RabbitMQ's own. Raises TargetError."""
        for node in self.nodes:
            if name in (node.name, node.inside):
                return node
        raise TargetError(f"no RabbitMQ node {name!r}; there are {', '.join(node.name for node in self.nodes)}")


@dataclass(frozen=True, slots=True)
class KafkaAddresses:
    """How to reach Kafka: `client` is the whole configuration for confluent-kafka, bootstrap.servers included."""

    bootstrap: str
    client: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Identity:
    """One life of a node: a restart changes it. `started`: clock ticks after boot, or what the target has instead."""

    pid: int
    started: int


class Node(Protocol):
    """One server. Every change returns when the new state is true, else raises TargetError or LabError."""

    @property
    def name(self) -> str:
        """The target's name for it."""

    def condition(self) -> Condition:
        """gone, frozen, starting or serving, from its process and its own answers."""

    def identity(self) -> Identity | None:
        """Which process it is now; None when it is gone."""

    def start(self) -> None:
        """Started or thawed, and serving."""

    def stop(self) -> None:
        """Ended cleanly."""

    def kill(self) -> None:
        """Ended with SIGKILL."""

    def pause(self) -> None:
        """Frozen: connections stay, it answers nothing."""

    def resume(self) -> None:
        """Thawed, and answering."""


class Target(Protocol):
    """A cluster that may be broken. `source`: what `--target` finds it by again: a lab's name or a file's path."""

    name: str
    own_name: str  # what the cluster itself says that it is
    source: str
    drillable: bool
    lock: Path  # held by the one driver that may be at work on it
    kind: str
    exporter_url: str | None
    prometheus_url: str | None
    alertmanager_url: str | None

    @property
    def systems(self) -> Sequence[str]:
        """Of kafka, rabbitmq, prometheus, alertmanager: those it has."""

    @property
    def rabbitmq(self) -> RabbitAddresses:
        """Raises TargetError where there is none."""

    @property
    def kafka(self) -> KafkaAddresses:
        """Raises TargetError where there is none."""

    def nodes(self, system: str) -> list[str]:
        """The names of the nodes of a system (`rabbitmq`, `kafka`: controllers included)."""

    def quorum(self, name: str) -> list[str]:
        """The nodes that decide together with this one, itself included. Kafka's controllers are apart."""

    def kafka_broker(self, name: str) -> int | None:
        """The broker's id; None for a node that is no broker of Kafka."""

    def node(self, name: str) -> Node:
        """A node by name. Raises TargetError or LabError naming those there are."""

    def rabbitmq_command(self, node: str, *arguments: str, program: str = "rabbitmqctl") -> str:
        """What `program -n NODE ARGUMENTS` prints, for what the HTTP API has not."""

    def exporter_config(self) -> dict[str, Any]:
        """The clusters for mq-exporter's configuration (keys `kafka`, `rabbitmq`), for a run that starts its own."""

    def watch(self, job: str, address: str, path: str, rules: Path, scrape: str) -> None:
        """Its Prometheus scrapes the page at this address too, so often, and has the rules of the file.

        Raises TargetError.
        """

    def unwatch(self, job: str, rules: Path) -> None:
        """Its Prometheus has neither this job nor this file; it may not have had them. Raises TargetError."""

    def watched(self) -> list[str]:
        """The scrape jobs of its Prometheus. Raises TargetError where there is none."""
