"""A RabbitMQ queue in a virtual host of the run's own; by default a quorum queue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from drills.faults.change import Change
from drills.targets.rabbitmq_api import Management, quoted
from drills.targets.target import Target


@dataclass(frozen=True)
class Queue(Change):
    """Durable. `vhost` must be one that the run made: the queue is deleted at the end whatever is in it."""

    is_fault: ClassVar[bool] = False

    vhost: str
    name: str
    type: str = "quorum"
    queue_arguments: Mapping[str, Any] = field(default_factory=dict)

    def prepared(self, target: Target) -> Queue:
        """Raises FileExistsError when there is one of this name: it must not even be planned to be removed."""
        if Management(target.rabbitmq).get(self._path) is not None:
            raise FileExistsError(f"queue {self.name!r} exists already in {self.vhost!r}: it stays as it is")
        return self

    def make(self, target: Target) -> None:
        """Declared through the management API."""
        Management(target.rabbitmq).put(
            self._path, {"durable": True, "arguments": {"x-queue-type": self.type, **self.queue_arguments}}
        )

    def undo(self, target: Target) -> None:
        """Deletes it; nothing when it or its virtual host is gone."""
        Management(target.rabbitmq).delete(self._path)

    def undone(self, target: Target) -> str | None:
        """It is gone."""
        return None if Management(target.rabbitmq).get(self._path) is None else f"queue {self.name} is still there"

    def says(self) -> str:
        """Declare it."""
        return f"declare the {self.type} queue {self.name} in {self.vhost}"

    def undo_says(self) -> str:
        """Delete it."""
        return f"delete the queue {self.name} in {self.vhost}"

    @property
    def _path(self) -> str:
        return f"queues/{quoted(self.vhost)}/{quoted(self.name)}"
