"""All that a case works with. Whatever it changes through here is in the ledger first, and is undone afterwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from drills.business.checkpoint import Checkpoint
from drills.engine import accounts
from drills.engine.screen import Screen
from drills.engine.undo import Changes
from drills.faults.change import Change
from drills.lab.waiting import Lack, wait_for
from drills.ledger import Ledger
from drills.model.drain import Drain
from drills.targets.target import Target


class Worker(Protocol):
    """The driver's handle of a worker process (drills/actors)."""

    name: str

    def kill(self) -> object:
        """Ended with SIGKILL; its pid and start time are gone; noted in the ledger. Can run twice."""


StartWorker = Callable[..., Worker]
"""`drills.actors.worker.start(module, name, options, *, ledger, case, log)`: `python -m MODULE`.

Its pid and start time are in the ledger (`ledger.worker_began`) before it is told to do anything.
"""


@dataclass
class Stage:
    """The stage of one case. `namespace`: for its vhost, and the prefix of its topics and groups."""

    parameters: Mapping[str, Any]
    target: Target
    ledger: Ledger
    case: str
    namespace: str
    business_url: str
    folder: Path  # of the run
    seed: int
    exporter_url: str | None  # the page that is read as Prometheus reads it; the target's, or the run's own exporter's
    changes: Changes
    screen: Screen
    start: StartWorker

    # changes

    def make(self, change: Change) -> int:
        """Makes a change, noted before; its number. Raises Refused (the quorum), or what the target raises."""
        return self.changes.make(self.case, change)

    def bite(self, number: int, seconds: float = 30.0) -> dict[str, Any]:
        """The proof that a fault took effect, noted. Raises LabTimeoutError without one."""
        return self.changes.bite(number, seconds)

    def undo(self, number: int) -> None:
        """Undoes a change early, verified; nothing when it is undone. Raises UndoError."""
        self.changes.undo(number)

    # workers

    def start_worker(self, module: str, name: str, options: Mapping[str, Any]) -> Any:
        """A worker process, `python -m MODULE`, killed at the end of the case if it still runs.

        Beside `options` it is told `run`, `case`, `name`, `ledger_url`, `business_url` and `seed`. Its name is made
        unique in the run with the case's name before it.
        """
        unique = f"{self.case}/{name}"
        common = {"run": self.ledger.run, "case": self.case, "name": unique, "seed": self.seed}
        urls = {"ledger_url": self.ledger.url, "business_url": self.business_url}
        log = self.folder / "logs" / f"{self.case}-{name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        return self.start(module, unique, {**common, **urls, **options}, ledger=self.ledger, case=self.case, log=log)

    # what is seen

    def fact(self, name: str, value: Any, source: str) -> None:
        """Notes something that was read, as JSON: criteria are judged on facts. The last one of a name counts."""
        self.ledger.fact(self.case, name, value, source)

    def checkpoint(self) -> Checkpoint:
        """What the business database holds of the case; noted as its facts `effects` and `quarantined`."""
        return accounts.noted(self.ledger, self.business_url, self.case)

    def note(self, text: str, kind: str = "note", **data: Any) -> None:
        """One line in the timeline and on the screen."""
        self.ledger.note(kind, text, self.case, **data)
        self.screen.line(f"{self.case}: {text}")

    def drained(self, drain: Drain) -> None:
        """Notes what was seen of the case's drain."""
        readings = [{"at": one.at, "waiting": one.waiting, "unacked": one.unacked} for one in drain.readings]
        self.fact("drain", {"leader": drain.leader, "sentinel": drain.sentinel, "readings": readings}, "the drain")

    def wait(self, claim: str, lack: Lack, seconds: float) -> None:
        """Returns when `lack` gives None; raises LabTimeoutError with what was last seen."""
        wait_for(claim, lack, seconds, self.screen.report())

    def live(self, **values: object) -> None:
        """What stands on the terminal's live line, such as lag=3 unacked=1."""
        self.screen.live(values)

    def nodes(self, system: str) -> Sequence[str]:
        """The names of the target's nodes of a system."""
        return self.target.nodes(system)
