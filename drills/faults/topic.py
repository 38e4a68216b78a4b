"""A Kafka topic of the run's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from drills.faults.change import Change
from drills.lab.waiting import wait_for
from drills.targets.kafka_admin import GONE, admin, described, names
from drills.targets.target import Target, TargetError

SECONDS = 30.0  # until each partition has a leader and all its replicas


@dataclass(frozen=True)
class Topic(Change):
    """`least` is its min.insync.replicas, set on the topic: the brokers' own value need not count."""

    is_fault: ClassVar[bool] = False

    name: str
    partitions: int
    replicas: int = 3
    least: int = 2
    settings: Mapping[str, str] = field(default_factory=dict)

    def prepared(self, target: Target) -> Topic:
        """Raises FileExistsError when there is one of this name: it must not even be planned to be removed."""
        if described(target.kafka, self.name) is not None:
            raise FileExistsError(f"topic {self.name!r} exists already: it is not this run's, and stays")
        return self

    def make(self, target: Target) -> None:
        """Returns when each partition has a leader, and all its replicas are in sync."""
        settings = {"min.insync.replicas": str(self.least), **self.settings}
        asked = {"num_partitions": self.partitions, "replication_factor": self.replicas, "configs": settings}
        with admin(target.kafka) as client:
            answer = client.create_topics({self.name: asked}, raise_errors=False)
        [found] = answer["topics"]
        if found["error_code"]:
            raise TargetError(f"topic {self.name} was not made: {names(found['error_code'])} {found['error_message']}")
        wait_for(f"topic {self.name} is whole", lambda: self._lack(target), SECONDS)

    def _lack(self, target: Target) -> str | None:
        found = described(target.kafka, self.name)
        if found is None:
            return "it is not there yet"
        whole = [one for one in found if one["leader_id"] >= 0 and len(one["isr_nodes"]) == self.replicas]
        return None if len(whole) == self.partitions else f"{len(whole)} of {self.partitions} partitions are whole"

    def undo(self, target: Target) -> None:
        """Deletes it; nothing when it is gone."""
        with admin(target.kafka) as client:
            answer = client.delete_topics([self.name], raise_errors=False)
        wrong = [names(one["error_code"]) for one in answer["topics"] if names(one["error_code"]) not in ("", GONE)]
        if wrong:
            raise TargetError(f"topic {self.name} was not deleted: {', '.join(wrong)}")

    def undone(self, target: Target) -> str | None:
        """It is gone."""
        return None if described(target.kafka, self.name) is None else f"topic {self.name} is still there"

    def says(self) -> str:
        """Make it."""
        return f"make the topic {self.name} with {self.partitions} partitions"

    def undo_says(self) -> str:
        """Delete it."""
        return f"delete the topic {self.name} with all that is in it"
