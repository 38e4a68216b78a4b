"""A node is ended cleanly (SIGTERM)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from drills.faults.node_change import NodeChange
from drills.targets.target import Target


@dataclass(frozen=True)
class StopNode(NodeChange):
    """A node is ended cleanly (SIGTERM)."""

    def make(self, target: Target) -> None:
        """Returns when its process and ports are gone."""
        target.node(self.node).stop()

    def bite(self, target: Target) -> dict[str, Any] | None:
        """The process that was meant is gone, and no other is there."""
        return self.gone(target)

    def says(self) -> str:
        """Stop it."""
        return f"stop {self.node}"
