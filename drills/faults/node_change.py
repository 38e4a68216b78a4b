"""What the faults of a node share: which life of it was ended or frozen, and that it serves again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from drills.faults.change import Change
from drills.targets.target import Identity, Target


@dataclass(frozen=True)
class NodeChange(Change):
    """A fault of one node. `pid` and `started`: the process that was meant, noted before it is touched."""

    node: str
    pid: int | None = None
    started: int | None = None

    def prepared(self, target: Target) -> Self:
        """With the process that it is now. Raises LookupError when there is none."""
        now = target.node(self.node).identity()
        if now is None:
            raise LookupError(f"{self.node} does not run: there is nothing to {self.says()}")
        return type(self)(self.node, now.pid, now.started)

    def undo(self, target: Target) -> None:
        """Starts or thaws it, unless it serves."""
        node = target.node(self.node)
        if node.condition() != "serving":
            node.start()

    def undone(self, target: Target) -> str | None:
        """It serves."""
        condition = target.node(self.node).condition()
        return None if condition == "serving" else f"{self.node} is {condition}"

    def members(self) -> frozenset[str]:
        """The node."""
        return frozenset({self.node})

    def undo_says(self) -> str:
        """Start it."""
        return f"start {self.node}"

    def gone(self, target: Target) -> dict[str, Any] | None:
        """The proof that no process is the node. Raises LookupError when a new one is: a supervisor undid the fault."""
        now = target.node(self.node).identity()
        if now is None:
            return {"node": self.node, "pid": self.pid, "started": self.started, "now": "gone"}
        if self.before != now:
            raise LookupError(f"{self.node} runs again as pid {now.pid}: something else started it, the fault is over")
        return None

    @property
    def before(self) -> Identity | None:
        """The process that was meant."""
        return None if self.pid is None or self.started is None else Identity(self.pid, self.started)
