"""A worker process of the run is ended with SIGKILL."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import Any

from drills.faults.change import Change
from drills.lab.processes import Process
from drills.targets.target import Target


@dataclass(frozen=True)
class KillWorker(Change):
    """`pid` and `started` as in the ledger's row of the worker. There is nothing to put back."""

    worker: str
    pid: int
    started: int

    def make(self, target: Target) -> None:  # noqa: ARG002 - our own process, not the target's
        """Sends SIGKILL to this very process."""
        Process(self.pid, self.started).send(signal.SIGKILL)

    def bite(self, target: Target) -> dict[str, Any] | None:  # noqa: ARG002
        """The process with this pid and start time is gone."""
        if Process(self.pid, self.started).alive():
            return None
        return {"worker": self.worker, "pid": self.pid, "started": self.started, "now": "gone"}

    def undo(self, target: Target) -> None:
        """Nothing: a worker that is needed again is a new one."""

    def undone(self, target: Target) -> str | None:  # noqa: ARG002
        """Nothing is missing."""
        return None

    def says(self) -> str:
        """SIGKILL to it."""
        return f"kill worker {self.worker} (pid {self.pid})"

    def undo_says(self) -> str:
        """Nothing."""
        return ""
