"""The password of an account that the run made is changed. There is no way back: the account goes with the run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from drills.faults import rabbitmq_user
from drills.faults.change import Change
from drills.faults.secrets import password
from drills.targets import kafka_accounts
from drills.targets.target import Target


@dataclass(frozen=True)
class Rotation(Change):
    """`system`: kafka or rabbitmq. Whether it took effect is shown by whoever connects with either password."""

    is_fault: ClassVar[bool] = False

    system: str
    user: str
    generation: int = 2
    tags: str = ""

    def make(self, target: Target) -> None:
        """The next password."""
        if self.system == "rabbitmq":
            rabbitmq_user.put_password(target, self.user, self.tags, self.generation)
        else:
            fresh = password(target, "kafka", self.user, self.generation)
            kafka_accounts.set_password(target.kafka, self.user, fresh)

    def undo(self, target: Target) -> None:
        """Nothing: the account is removed."""

    def undone(self, target: Target) -> str | None:  # noqa: ARG002
        """Nothing is missing."""
        return None

    def says(self) -> str:
        """Rotate it."""
        return f"change the password of {self.user} ({self.system})"

    def undo_says(self) -> str:
        """Nothing."""
        return ""
