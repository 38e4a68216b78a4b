"""A consumer group of the run's own, with committed offsets from the start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

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
        with admin(target.kafka) as client:
            if client.list_group_offsets({self.name: None})[self.name]:
                raise FileExistsError(f"group {self.name!r} has offsets already: it is not this run's, and stays")
        return self

    def make(self, target: Target) -> None:
        """Returns when the coordinator gives back what was committed: a commit without an error need not be one."""
        wait_for(f"group {self.name} is committed at {self.offset}", lambda: self._lack(target), SECONDS)

    def _lack(self, target: Target) -> str | None:
        places = [TopicPartition(self.topic, number) for number in range(self.partitions)]
        with admin(target.kafka) as client:
            answer = client.alter_group_offsets(
                self.name, {place: OffsetAndMetadata(self.offset, "", -1) for place in places}
            )
            wrong = {error.__name__ for error in answer.values()} - {"NoError"}
            if wrong:
                return ", ".join(sorted(wrong))
            found = client.list_group_offsets({self.name: None})[self.name]
        return None if {place: self.offset for place in places} == {
            place: one.offset for place, one in found.items()
        } else f"committed are {len(found)} of {len(places)} partitions"

    def undo(self, target: Target) -> None:
        """Deletes it; nothing when it is gone. Raises TargetError while it has members."""
        with admin(target.kafka) as client:
            said = client.delete_groups([self.name])[self.name]
        if said not in GONE:
            raise TargetError(f"group {self.name} was not deleted: {said}")

    def undone(self, target: Target) -> str | None:
        """No offset of it is left."""
        with admin(target.kafka) as client:
            left = client.list_group_offsets({self.name: None})[self.name]
        return f"group {self.name} still has offsets" if left else None

    def says(self) -> str:
        """Commit it."""
        return f"commit the group {self.name} at {self.offset} on {self.partitions} partitions"

    def undo_says(self) -> str:
        """Delete it."""
        return f"delete the group {self.name}"
