"""A RabbitMQ virtual host of the run's own, in which its user may do everything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from drills.faults.change import Change
from drills.targets.rabbitmq_api import Management, quoted
from drills.targets.target import Target

MARK = "made by mq-drill; it is removed with all that is in it when the run ends"
ALL = {"configure": ".*", "write": ".*", "read": ".*"}


@dataclass(frozen=True)
class Vhost(Change):
    """Removed at the end with every queue, exchange and policy in it; only when it carries our mark."""

    is_fault: ClassVar[bool] = False

    name: str

    def prepared(self, target: Target) -> Vhost:
        """Raises FileExistsError when there is one of this name: it must not even be planned to be removed."""
        if self._there(Management(target.rabbitmq)) is not None:
            raise FileExistsError(f"virtual host {self.name!r} exists already: it is not this run's, and stays")
        return self

    def make(self, target: Target) -> None:
        """With all rights for the target's user."""
        api = Management(target.rabbitmq)
        api.put(self._path, {"description": MARK})
        api.put(f"permissions/{quoted(self.name)}/{quoted(target.rabbitmq.user)}", ALL)

    def undo(self, target: Target) -> None:
        """Deletes it when it is ours."""
        api = Management(target.rabbitmq)
        if self._is_ours(self._there(api)):
            api.delete(self._path)

    def undone(self, target: Target) -> str | None:
        """None of our making is there."""
        there = self._is_ours(self._there(Management(target.rabbitmq)))
        return f"virtual host {self.name} is still there" if there else None

    def says(self) -> str:
        """Make it."""
        return f"make the virtual host {self.name}"

    def undo_says(self) -> str:
        """Remove it."""
        return f"remove the virtual host {self.name} with all that is in it"

    @property
    def _path(self) -> str:
        return f"vhosts/{quoted(self.name)}"

    def _there(self, api: Management) -> Any | None:
        return api.get(self._path)

    @staticmethod
    def _is_ours(found: Any | None) -> bool:
        return found is not None and MARK in (found.get("description"), found.get("metadata", {}).get("description"))
