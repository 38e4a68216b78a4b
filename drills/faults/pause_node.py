"""A node is frozen (SIGSTOP): its connections stay, it answers nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from drills.faults.node_change import NodeChange
from drills.targets.target import Target


@dataclass(frozen=True)
class PauseNode(NodeChange):
    """A node is frozen as a whole, heartbeats included."""

    def make(self, target: Target) -> None:
        """Returns when the kernel says that it stands."""
        target.node(self.node).pause()

    def bite(self, target: Target) -> dict[str, Any] | None:
        """The same process, and it stands still."""
        node = target.node(self.node)
        if node.condition() != "frozen" or node.identity() != self.before:
            return None
        return {"node": self.node, "pid": self.pid, "started": self.started, "now": "frozen"}

    def says(self) -> str:
        """Freeze it."""
        return f"freeze {self.node}"

    def undo_says(self) -> str:
        """Thaw it."""
        return f"thaw {self.node}"
