"""What a drill is: cases that are played, and criteria that are judged on what was stored of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from drills.model.seen import Seen
from drills.model.verdict import Judgement

if TYPE_CHECKING:
    from drills.engine.stage import Stage
    from drills.targets.target import Target

PHASES = ("fixture", "steady", "inject", "observe", "recover", "drain", "reconcile")
"""The phases of a case, in order. Before the first case comes `preflight`, after the last `judge` and `evidence`."""


@dataclass(frozen=True, slots=True)
class Criterion:
    """One acceptance criterion. `cases`: the names of the cases that it is judged on; `judge` is pure."""

    number: int
    title: str
    title_vi: str
    judge: Callable[[Seen], Judgement]
    cases: tuple[str, ...]


class Case(ABC):
    """One subcase, in a namespace of its own. A phase that is not written does nothing.

    A phase that raises ends the case: what it changed is undone, its criteria are UNKNOWN, the other cases go on.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    about_quorum_loss: ClassVar[bool] = False  # may take a second member of a quorum
    phase_seconds: float = 180.0  # the watchdog of each of its phases: past it the whole run is aborted

    @abstractmethod
    def plan(self, parameters: Mapping[str, Any]) -> Iterable[str]:
        """Lines for `mq-drill plan`: resources, faults, rollbacks."""

    def fixture(self, stage: Stage) -> None:
        """Makes a clean state in the namespace."""

    def steady(self, stage: Stage) -> None:
        """Shows that all is well before the fault."""

    def inject(self, stage: Stage) -> None:
        """Makes the fault, at a hook that was reached or a state that was read, and proves that it bit."""

    def observe(self, stage: Stage) -> None:
        """Reads what the fault did."""

    def recover(self, stage: Stage) -> None:
        """Takes the fault back and waits until the service is there again."""

    def drain(self, stage: Stage) -> None:
        """Lets everything through, and proves it (`stage.drained`)."""

    def reconcile(self, stage: Stage) -> None:
        """Notes the facts that the account of the case is made of (see drills/engine/seeing.py)."""


@dataclass(frozen=True, slots=True)
class Drill:
    """One drill. `parameters(quick)`: counts, deadlines, budget as JSON, fixed and hashed before the run."""

    name: str
    question: str
    question_vi: str
    systems: tuple[str, ...]  # that the target must have
    cases: Sequence[Case]
    criteria: Sequence[Criterion]
    parameters: Callable[[bool], dict[str, Any]]
    lack: Callable[[Target], str | None] = lambda _: None  # what the target lacks before it may begin, for preflight

    def case(self, name: str) -> Case:
        """A case by name. Raises LookupError."""
        for case in self.cases:
            if case.name == name:
                return case
        raise LookupError(f"drill {self.name} has no case {name!r}")

    def needed(self, only: Iterable[int] | None) -> tuple[list[Criterion], list[Case]]:
        """The criteria of these numbers (default: all) and the cases that they need, each in the drill's order."""
        numbers = None if only is None else set(only)
        criteria = [one for one in self.criteria if numbers is None or one.number in numbers]
        names = {name for one in criteria for name in one.cases}
        return criteria, [case for case in self.cases if case.name in names]
