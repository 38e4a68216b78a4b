"""A RabbitMQ node's free-disk limit is raised above what is free: the disk alarm, without a disk being filled."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from drills.faults.change import Change
from drills.targets.rabbitmq_api import Management, quoted
from drills.targets.target import Target

READ = "rabbit_disk_monitor:get_disk_free_limit()"


@dataclass(frozen=True)
class DiskLimit(Change):
    """`limit` and `before` in bytes. Publishers to the whole cluster are blocked. A restart of the node reverts it."""

    node: str
    limit: int
    before: int | None = None

    def prepared(self, target: Target) -> DiskLimit:
        """With the limit that is in force now."""
        return replace(self, before=self._now(target))

    def make(self, target: Target) -> None:
        """Sets the limit."""
        self._set(target, self.limit)

    def bite(self, target: Target) -> dict[str, Any] | None:
        """The node itself says that the alarm is on. A node whose monitor is off takes the limit and does nothing."""
        path = f"nodes/{quoted(target.rabbitmq.node(self.node).inside)}"
        found = Management(target.rabbitmq, (self.node,)).get(path) or {}
        if found.get("disk_free_alarm") is not True:
            return None
        return {key: found.get(key) for key in ("name", "disk_free_alarm", "disk_free", "disk_free_limit")}

    def undo(self, target: Target) -> None:
        """Sets the limit that was in force."""
        if self.before is not None and self._now(target) != self.before:
            self._set(target, self.before)

    def undone(self, target: Target) -> str | None:
        """The limit is that of before."""
        now = self._now(target)
        return None if self.before in (None, now) else f"the free-disk limit is {now}, not {self.before}"

    def says(self) -> str:
        """Raise the limit."""
        return f"set the free-disk limit of {self.node} to {self.limit} bytes"

    def undo_says(self) -> str:
        """Set it back."""
        return f"set the free-disk limit of {self.node} back to {self.before} bytes"

    def _now(self, target: Target) -> int:
        return int(target.rabbitmq_command(self.node, "eval", f"{READ}."))

    def _set(self, target: Target, limit: int) -> None:
        setting = f"ok = rabbit_disk_monitor:set_disk_free_limit({limit}), {READ}."
        now = target.rabbitmq_command(self.node, "eval", setting)
        if now != str(limit):
            raise LookupError(f"{self.node}: the free-disk limit is {now} after it was set to {limit}")
