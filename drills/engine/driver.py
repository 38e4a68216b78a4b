"""One run of one drill: preflight, its cases, the rollback, judging and evidence, and the exit code."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256

from sqlalchemy.exc import SQLAlchemyError

from drills.engine import conclusion, guards, preflight, processes, recovery_time, runs, topology
from drills.engine.drill import PHASES, Case, Drill
from drills.engine.errors import Aborted, Left, Refused
from drills.engine.interruptions import Interruptions
from drills.engine.reading import Reading
from drills.engine.screen import Screen
from drills.engine.stage import Stage, StartWorker
from drills.engine.stop_conditions import StopConditions
from drills.engine.undo import Changes, first_line
from drills.faults.change import Change
from drills.lab.errors import LabError
from drills.lab.processes import process_of
from drills.ledger import Ledger
from drills.model.verdict import Exit
from drills.targets.target import Target, TargetError

PREFLIGHT = 180.0  # seconds
CONCLUDE = 300.0  # seconds for judging and evidence


@dataclass(frozen=True, slots=True)
class Options:
    """How a drill is run. `only`: numbers of criteria; `stop_on`: alerts or expressions."""

    seed: int
    quick: bool = False
    only: tuple[int, ...] | None = None
    stop_on: tuple[str, ...] = ()
    silence: bool = False
    rto: float | None = None  # seconds until the service must be back after each fault
    ledger_url: str | None = None
    business_url: str | None = None


@dataclass
class Ended:
    """How a run ended. `rolled_back`: what was put back because of an abort; `left`: what still stands."""

    refused: str | None = None
    aborted: str | None = None
    rolled_back: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


class Driver:
    """Plays one run. `play` gives the exit code; the run is found again by `run`, in `folder`."""

    def __init__(self, drill: Drill, target: Target, options: Options, screen: Screen, start: StartWorker) -> None:
        self.drill = recovery_time.judged(drill, options.rto, options.only)
        self.target = target
        self.options = options
        self.screen = screen
        self.run = runs.new_name(drill.name, options.seed)
        self.ended = Ended()
        self.reading = Reading(screen)
        self._start = start
        self._signals = Interruptions(screen.line)

    def play(self) -> Exit:
        """The whole run. Raises Refused before anything was done or written; WrongUse for a bad address."""
        guards.check_target(self.target, self.drill)
        with guards.one_driver(self.target, f"run {self.run}"):
            guards.check_clean(self.target)
            with self._signals, self.screen:
                try:
                    self._open()
                    return self._play()
                except Left:
                    return self._leave()
                except Aborted as aborted:  # before or after all that must be rolled back
                    self.screen.loud(f"ABORTED: {aborted}")
                    return Exit.ABORTED

    # the beginning

    def _open(self) -> None:
        try:
            found = runs.make(
                self.run, self.drill.name, self.target.source, self.options.ledger_url, self.options.business_url
            )
            self.folder, self.note = found
            self.ledger = Ledger(self.note.ledger_url, self.run)
            self.ledger.create()
            self._begin()
        except (SQLAlchemyError, OSError) as error:
            raise Refused(f"nothing was touched: the run's record can't be written: {first_line(error)}") from error
        self.changes = Changes(self.target, self.ledger, self.screen, self._guard, self._signals.deadline)
        self.screen.line(f"run {self.run} on {self.target.name}, seed {self.options.seed}, in {self.folder}")

    def _begin(self) -> None:
        parameters = self.drill.parameters(self.options.quick)
        told = json.dumps(parameters, sort_keys=True, separators=(",", ":")).encode()
        only = None if self.options.only is None else list(self.options.only)
        asked = {
            "quick": self.options.quick,
            "only": only,
            "stop_on": list(self.options.stop_on),
            "rto": self.options.rto,
        }
        driver = process_of(os.getpid())
        assert driver is not None, "we run"
        self.ledger.begin(
            drill=self.drill.name,
            target=self.target.name,
            seed=self.options.seed,
            quick=self.options.quick,
            driver_pid=driver.pid,
            driver_started=driver.started,
            parameters={**parameters, **asked, "fixed": sha256(told).hexdigest()},
            versions=preflight.own_versions(),
        )

    # the middle

    def _play(self) -> Exit:
        criteria, cases = self.drill.needed(self._numbers())
        try:
            with StopConditions(self.target, self.options.stop_on, self._signals.abort) as conditions:
                self._preflight(conditions)
                for case in cases:
                    self._case(case)
        except Refused as refused:
            self.ended.refused = str(refused)
        except Aborted as aborted:
            self.ended.aborted = str(aborted)
        except Exception as error:  # noqa: BLE001 - whatever it is, all of it is rolled back
            self.ended.aborted = f"the run can't go on: {type(error).__name__}: {first_line(error)}"
        self._roll_back_all()
        return conclusion.conclude(self, criteria)

    def _preflight(self, conditions: StopConditions) -> None:
        with self.phase("", "preflight", PREFLIGHT):
            conditions.check()
            preflight.check(self.target, self.drill, self.screen)
            self.ledger.describe(versions={**preflight.own_versions(), **preflight.broker_versions(self.target)})
            guards.mark_left(self.target, self.folder)
            self.reading.begin(self.ledger, self.target, self.folder, self.namespace)
            if self.options.silence:
                self.changes.make("", preflight.silence(self.target, self.run, self.namespace))

    def _case(self, case: Case) -> None:
        """One case. What its phases raise is noted and ends it; its changes are undone in any event."""
        stage = self._stage(case)
        try:
            for phase in PHASES:
                with self.phase(case.name, phase, case.phase_seconds):
                    getattr(case, phase)(stage)
                    if phase == PHASES[0]:
                        self._export(case)
            self._note_recovery(case)
        except Refused:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a case raises, the other cases go on
            self.screen.line(f"{case.name}: FAILED: {type(error).__name__}: {error}")
        finally:
            with self._signals.rollback():
                self._roll_back(case.name)

    @contextlib.contextmanager
    def phase(self, case: str, phase: str, seconds: float) -> Iterator[None]:
        """A phase, noted before it begins and after it ended, under its watchdog."""
        self.screen.phase(case, phase, seconds)
        self._note_phase(case, phase, "began")
        try:
            with self._signals.deadline(seconds, f"{phase} of {case or self.drill.name}"):
                yield
        except Exception as error:
            self._note_phase(case, phase, "failed", f"{type(error).__name__}: {first_line(error)}")
            raise
        self._note_phase(case, phase, "ended")

    def _note_phase(self, case: str, phase: str, state: str, error: str = "") -> None:
        """A run that can't be recorded ends: what it would show could not be shown."""
        more = {"error": error} if error else {}
        try:
            self.ledger.note(
                "phase", " ".join(filter(None, (phase, state, error))), case, phase=phase, state=state, **more
            )
        except (SQLAlchemyError, OSError) as failure:
            self._signals.end(f"the run's record can't be written: {first_line(failure)}")

    def _export(self, case: Case) -> None:
        try:
            topology.export(self.target, self.ledger, case.name, self.folder)
        except (TargetError, OSError) as error:
            self.screen.line(f"{case.name}: its topology was not exported: {first_line(error)}")

    def _note_recovery(self, case: Case) -> None:
        try:
            recovery_time.note(self.ledger, self.note.business_url, case.name)
        except (SQLAlchemyError, OSError) as error:
            self.screen.line(f"{case.name}: the time to recovery was not noted: {first_line(error)}")

    def _numbers(self) -> list[int] | None:
        """The numbers of the criteria that are judged; None: all."""
        only, last = self.options.only, self.drill.criteria[-1].number
        return None if only is None else [*only, *([last] if self.options.rto is not None else [])]

    def _stage(self, case: Case) -> Stage:
        return Stage(
            parameters=self.ledger.about()["parameters"],
            target=self.target,
            ledger=self.ledger,
            case=case.name,
            namespace=f"{self.namespace}-{case.name}",
            business_url=self.note.business_url,
            folder=self.folder,
            seed=self.options.seed,
            exporter_url=self.exporter_url,
            changes=self.changes,
            screen=self.screen,
            start=self._start,
        )

    @property
    def namespace(self) -> str:
        """What the names of all that the run makes begin with."""
        return runs.namespace(self.run)

    @property
    def exporter_url(self) -> str | None:
        """The page that is read: the target's, or that of the run's own exporter; None where there is neither."""
        return self.reading.url

    def _guard(self, case: str, change: Change) -> None:
        if case:
            guards.check_quorum(self.target, self.drill.case(case), change)

    # the end

    def _roll_back(self, case: str | None) -> None:
        """Ends workers and undoes changes, of one case or of all. What failed is shouted, and stands in `left`."""
        if self._signals.left:
            return
        try:
            if case is not None:
                processes.end_all(self.ledger, case)
        except (SQLAlchemyError, OSError, LabError) as error:
            self.screen.line(f"workers of {case} could not be ended: {first_line(error)}")
        before = self.changes.left()
        self.changes.undo_all(case)
        if self._signals.reason is not None:
            self.ended.rolled_back += [line for line in before if line not in self.changes.left()]

    def _roll_back_all(self) -> None:
        try:
            with self._signals.rollback():
                self._roll_back(None)
        except Aborted as aborted:
            self.ended.aborted = self.ended.aborted or str(aborted)
        self.ended.left = self.changes.left()
        if self.ended.aborted is not None:
            done = "; ".join(self.ended.rolled_back) or "nothing stood"
            self.screen.line(f"ABORTED: {self.ended.aborted}. Rolled back: {done}")
        if not self.ended.left:
            guards.unmark_left(self.target, self.folder)

    def _leave(self) -> Exit:
        """A second Ctrl-C: what is left, and how to put it back."""
        left = self.changes.left() if hasattr(self, "changes") else []
        told = "\n".join(f"  {line}" for line in left) or "  nothing that a drill changed stands; workers may run"
        self.screen.loud(f"LEFT AS IT IS. Still to be done:\n{told}\nDo it with: mq-drill recover {self.run}")
        with contextlib.suppress(SQLAlchemyError, OSError, LabError):
            processes.end_marked(self.run)
            self.ledger.finish("aborted", Exit.ROLLBACK_FAILED if left else Exit.ABORTED)
        return Exit.ROLLBACK_FAILED if left else Exit.ABORTED
