"""An account of RabbitMQ of the run's own, with rights in one virtual host and no more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from drills.faults.change import Change
from drills.faults.secrets import password
from drills.targets.rabbitmq_api import Management, quoted
from drills.targets.target import Target


@dataclass(frozen=True)
class RabbitmqUser(Change):
    """`configure`, `write`, `read`: patterns of names in the virtual host. `tags`: "" for none, or administrator."""

    is_fault: ClassVar[bool] = False

    name: str
    vhost: str
    configure: str
    write: str
    read: str
    tags: str = ""

    def prepared(self, target: Target) -> RabbitmqUser:
        """Raises FileExistsError when there is one of this name: it must not even be planned to be removed."""
        if self._there(target) is not None:
            raise FileExistsError(f"user {self.name!r} exists already: it is not this run's, and stays")
        return self

    def make(self, target: Target) -> None:
        """With the first generation of its password."""
        put_password(target, self.name, self.tags, 1)
        rights = {"configure": self.configure, "write": self.write, "read": self.read}
        Management(target.rabbitmq).put(f"permissions/{quoted(self.vhost)}/{quoted(self.name)}", rights)

    def undo(self, target: Target) -> None:
        """Deletes it, and its rights with it; nothing when it is gone."""
        Management(target.rabbitmq).delete(_path(self.name))

    def undone(self, target: Target) -> str | None:
        """It is gone."""
        return None if self._there(target) is None else f"user {self.name} is still there"

    def says(self) -> str:
        """Make it."""
        return f"make the RabbitMQ user {self.name} with rights in {self.vhost}"

    def undo_says(self) -> str:
        """Delete it."""
        return f"delete the RabbitMQ user {self.name}"

    def _there(self, target: Target) -> Any | None:
        return Management(target.rabbitmq).get(_path(self.name))


def put_password(target: Target, name: str, tags: str, generation: int) -> None:
    """Makes a user, or gives one the password of this generation."""
    fresh = {"password": password(target, "rabbitmq", name, generation), "tags": tags}
    Management(target.rabbitmq).put(_path(name), fresh)


def _path(name: str) -> str:
    return f"users/{quoted(name)}"
