"""A topic of the run's own gets more partitions. Kafka never takes partitions away: there is no way back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from drills.faults.change import Change
from drills.targets.kafka_admin import admin, described, names
from drills.targets.target import KafkaAddresses, Target, TargetError


@dataclass(frozen=True)
class Partitions(Change):
    """`topic` must be one that the run made: it keeps them until it is deleted."""

    topic: str
    count: int

    def make(self, target: Target) -> None:
        """Raises TargetError when the brokers refuse it."""
        refusal = refused(target.kafka, self.topic, self.count)
        if refusal is not None:
            raise TargetError(f"{self.topic} did not get {self.count} partitions: {refusal}")

    def bite(self, target: Target) -> dict[str, Any] | None:
        """The brokers tell so many, each with a leader."""
        found = described(target.kafka, self.topic) or []
        led = [one["partition_index"] for one in found if one["leader_id"] >= 0]
        return {"topic": self.topic, "partitions": led} if len(led) == self.count else None

    def undo(self, target: Target) -> None:
        """Nothing: fewer partitions can't be had; they go with the topic."""

    def undone(self, target: Target) -> str | None:  # noqa: ARG002
        """Nothing is missing."""
        return None

    def says(self) -> str:
        """Raise it."""
        return f"raise {self.topic} to {self.count} partitions"

    def undo_says(self) -> str:
        """Nothing."""
        return ""


def refused(addresses: KafkaAddresses, topic: str, count: int) -> str | None:
    """Asks for so many partitions; the brokers' refusal in their own words, None when they do it."""
    with admin(addresses) as client:
        answer = client.create_partitions({topic: count}, raise_errors=False).to_dict()
    [found] = answer["results"]
    name = names(found["error_code"])
    return f"{name}: {found['error_message']}" if name else None
