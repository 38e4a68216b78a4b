"""A consumer group of the run's own, with committed offsets from the start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from drills.faults.change import Change
from drills.lab.waiting import wait_for
from drills.targets.kafka_admin import OffsetAndMetadata, TopicPartition, admin
from drills.targets.target import Target, TargetError

SECONDS = 60.0  # until the coordinator takes commits: after a restart it loads first
GONE = ("OK", "GroupIdNotFoundError")


@dataclass(frozen=True)
class Group(Change):
    """Committed at `offset` on each of the topic's partitions, so that its lag is known before it ever ran."""

    is_fault: ClassVar[bool] = False

    name: str
    topic: str
    partitions: int
    offset: int = 0

    def prepared(self, target: Target) -> Group:
        """Raises FileExistsError when there is one of this name: it must not even be planned to be removed."""
        if self._committed(target):
            raise FileExistsError(f"group {self.name!r} has offsets already: it is not this run's, and stays")
        return self

    def _committed(self, target: Target) -> dict[Any, int]:
        """Its offsets, once a coordinator answers: the first group of a cluster makes the topic they are kept in."""
        found: dict[Any, int] = {}

        def lack() -> str | None:
            try:
                with admin(target.kafka) as client:
                    told = client.list_group_offsets({self.name: None})[self.name]
            except TargetError as error:
                return str(error)
            found.update({place: one.offset for place, one in told.items()})
            return None

        wait_for(f"the coordinator of group {self.name} answers", lack, SECONDS)
        return found

    def make(self, target: Target) -> None:
        """Returns when the coordinator gives back what was committed: a commit without an error need not be one."""
        wait_for(f"group {self.name} is committed at {self.offset}", lambda: self._lack(target), SECONDS)

    def _lack(self, target: Target) -> str | None:
        wanted = {TopicPartition(self.topic, number): self.offset for number in range(self.partitions)}
        asked = {place: OffsetAndMetadata(offset, "", -1) for place, offset in wanted.items()}
        try:
            with admin(target.kafka) as client:
                answer = client.alter_group_offsets(self.name, asked)
        except TargetError as error:
            return str(error)
        wrong = {error.__name__ for error in answer.values()} - {"NoError"}
        if wrong:
            return ", ".join(sorted(wrong))
        found = self._committed(target)
        return None if found == wanted else f"{len(found)} of {len(wanted)} partitions are committed"

    def undo(self, target: Target) -> None:
        """Deletes it; nothing when it is gone. A member that was killed is one until its session ends."""
        wait_for(f"group {self.name} is deleted", lambda: self._not_deleted(target), SECONDS)

    def _not_deleted(self, target: Target) -> str | None:
        try:
            with admin(target.kafka) as client:
                said = client.delete_groups([self.name])[self.name]
        except TargetError as error:
            return str(error)
        return None if said in GONE else str(said)

    def undone(self, target: Target) -> str | None:
        """No offset of it is left."""
        return f"group {self.name} still has offsets" if self._committed(target) else None

    def says(self) -> str:
        """Commit it."""
        return f"commit the group {self.name} at {self.offset} on {self.partitions} partitions"

    def undo_says(self) -> str:
        """Delete it."""
        return f"delete the group {self.name}"
