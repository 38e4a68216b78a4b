"""An account of Kafka of the run's own (SCRAM-SHA-512), with the rights that are listed and no more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from drills.faults.change import Change
from drills.faults.secrets import password
from drills.targets import kafka_accounts
from drills.targets.target import Target

TABLE = 1024  # places of the largest table that is thought of: so many accounts come long after any lab's


@dataclass(frozen=True)
class KafkaUser(Change):
    """`rights`: [operation, resource type, resource name], such as ["READ", "TOPIC", "orders"]."""

    is_fault: ClassVar[bool] = False

    name: str
    rights: Sequence[Sequence[str]]

    def prepared(self, target: Target) -> KafkaUser:
        """Raises FileExistsError when there is one of this name: it must not even be planned to be removed."""
        if self._left(target):
            raise FileExistsError(f"Kafka user {self.name!r} exists already: it is not this run's, and stays")
        return self

    def make(self, target: Target) -> None:
        """With the first generation of its password. The brokers learn of both a moment later."""
        kafka_accounts.set_password(target.kafka, self.name, password(target, "kafka", self.name, 1))
        kafka_accounts.grant(target.kafka, self.name, self.rights)

    def undo(self, target: Target) -> None:
        """Takes rights and password away; nothing when they are gone."""
        kafka_accounts.revoke(target.kafka, self.name)
        kafka_accounts.forget_user(target.kafka, self.name)

    def undone(self, target: Target) -> str | None:
        """It has neither."""
        left = self._left(target)
        return f"Kafka user {self.name} still has {left}" if left else None

    def says(self) -> str:
        """Make it."""
        told = ", ".join(f"{operation.lower()} on {kind.lower()} {name}" for operation, kind, name in self.rights)
        return f"make the Kafka user {self.name} with {told}"

    def undo_says(self) -> str:
        """Delete it."""
        return f"delete the Kafka user {self.name} and its rights"

    def _left(self, target: Target) -> str:
        found = {
            "a password": kafka_accounts.has_password(target.kafka, self.name),
            "rights": bool(kafka_accounts.rights_of(target.kafka, self.name)),
        }
        return " and ".join(name for name, there in found.items() if there)


def harmless(stem: str) -> str:
    """A name that begins so and may be removed again without harm to the other accounts.

    Kafka 4.4's brokers forget every SCRAM account when they start and their log has the removal of one that comes
    before others in a Java HashMap (`ScramDelta.apply`). This name comes last in a table of up to 1024 places.
    """
    number = 0
    while _place(f"{stem}-{number}") != TABLE - 1:
        number += 1
    return f"{stem}-{number}"


def _place(name: str) -> int:
    """Where a String comes to stand in a HashMap of so many places; in a smaller one its last bits tell."""
    code = 0
    for letter in name:
        code = (31 * code + ord(letter)) & 0xFFFFFFFF
    return (code ^ (code >> 16)) & (TABLE - 1)
