"""Rights that the exporter's user lacks: each as Kafka's tools name it, with what it costs and how it is given.

Kafka answers a user without rights with empty lists, not with errors: so what is missing has to be found and said.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from exporter.clients.kafka.failures import Failure
from exporter.model.common import Kind


@dataclass(frozen=True, slots=True)
class Right:
    """One operation on one type of resource. `lost` is what is not seen without it."""

    operation: str
    resource: str  # Cluster, Topic, Group
    lost: str

    def failure(self, names: Sequence[str] = ()) -> Failure:
        """That the user lacks it, on these topics or groups (none: on the cluster, or on all of them)."""
        named = f" {_first(names)}" if names else ""
        one = names[0] if len(names) == 1 else "*"
        where = "--cluster" if self.resource == "Cluster" else f"--{self.resource.lower()} {shlex.quote(one)}"
        command = f"kafka-acls --add --allow-principal User:USER --operation {self.operation} {where}"
        what = f"missing right {self.operation} on {self.resource}{named}: {self.lost}; {command}"
        return Failure(Kind.AUTHORIZATION, what)


def item(kind: str, names: Sequence[str]) -> str:
    """`topic orders`, or `topic orders and 2 others`."""
    return f"{kind} {_first(names)}"


def _first(names: Sequence[str]) -> str:
    others = len(names) - 1
    return names[0] if not others else f"{names[0]} and {others} other{'s' if others > 1 else ''}"


CLUSTER = "cluster"
"""The item of a problem that is about the whole cluster; the same in every collector, so that it is told once."""
DESCRIBE_CLUSTER = Right(
    "Describe", "Cluster", "log directories, the quorum, and groups without a right of their own are hidden"
)
DESCRIBE_TOPIC = Right("Describe", "Topic", "its offsets and everything about it are hidden")
DESCRIBE_TOPICS = Right("Describe", "Topic", "no topic is visible")
DESCRIBE_ASSIGNED = Right("Describe", "Topic", "a group's members are hidden unless every topic they read is visible")
DESCRIBE_GROUP = Right("Describe", "Group", "its members, commits and lag are hidden")
READ_TOPIC = Right("Read", "Topic", "ages are estimates, or unknown (or set `ages: estimate`)")
DESCRIBE_TOPIC_CONFIGS = Right("DescribeConfigs", "Topic", "min ISR, retention and cleanup policy are unknown")
DESCRIBE_GROUP_CONFIGS = Right("DescribeConfigs", "Group", "the dead-letter topics of share groups are unknown")
