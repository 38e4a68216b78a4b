"""A node is ended with SIGKILL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from drills.faults.node_change import NodeChange
from drills.targets.target import Target


@dataclass(frozen=True)
class KillNode(NodeChange):
    """A node is ended with SIGKILL."""

    def make(self, target: Target) -> None:
        """Returns when its process and ports are gone."""
        target.node(self.node).kill()

    def bite(self, target: Target) -> dict[str, Any] | None:
        """The process that was meant is gone, and no other is there."""
        return self.gone(target)

    def says(self) -> str:
        """Kill it."""
        return f"kill {self.node}"
