"""A drill that needs no broker: it writes files, starts a worker process, and lets three events have their effect."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from drills.business.handling import Business, Event
from drills.engine.drill import Case, Criterion, Drill
from drills.engine.stage import Stage
from drills.faults.file import File
from drills.faults.kill_worker import KillWorker
from drills.model.drain import Drain, Reading
from drills.model.publish import Outcome
from drills.model.seen import Seen
from drills.model.verdict import Judgement, Verdict
from tests.tiny.orders import hold, order

EVENTS = ("E001", "E002", "E003")


class Setting(Case):
    """A setting is broken and put back while a worker runs."""

    name = "setting"
    title = "a setting is broken and put back"
    phase_seconds = 30.0

    def plan(self, parameters: Mapping[str, Any]) -> Iterable[str]:
        return [f"make a file, break it for {parameters['events']} events", "undo: put both files back"]

    def fixture(self, stage: Stage) -> None:
        stage.bite(stage.make(File(f"{order('world')}/{self.name}-resource", "made by the drill")), 5)
        self.worker = stage.start_worker("tests.tiny.worker", "worker", {})
        self.worker.await_event("ready", 20)
        hold(self.name, "fixture", stage)

    def steady(self, stage: Stage) -> None:
        hold(self.name, "steady", stage)

    def inject(self, stage: Stage) -> None:
        self.fault = stage.make(File(f"{order('world')}/{self.name}-setting", "broken"))
        if order("bites", True):
            stage.bite(self.fault, 5)
        hold(self.name, "inject", stage)

    def observe(self, stage: Stage) -> None:
        process = self.worker.process
        stage.bite(stage.make(KillWorker(self.worker.name, process.pid, process.started)), 10)
        self.worker.kill()
        if order("fails", "") == self.name:
            raise LookupError("the case was told to fail")
        hold(self.name, "observe", stage)

    def recover(self, stage: Stage) -> None:
        stage.undo(self.fault)
        hold(self.name, "recover", stage)

    def drain(self, stage: Stage) -> None:
        apply(stage)
        now = time.monotonic()
        stage.drained(Drain("this process", "sentinel-1", [Reading(now - 6, 0, 0), Reading(now, 0, 0)]))
        hold(self.name, "drain", stage)

    def reconcile(self, stage: Stage) -> None:
        stage.checkpoint()
        hold(self.name, "reconcile", stage)


class Second(Case):
    """A case that comes after the other."""

    name = "second"
    title = "a case that comes after the other"

    def plan(self, parameters: Mapping[str, Any]) -> Iterable[str]:
        return [f"no change for {parameters['events']} events"]

    def reconcile(self, stage: Stage) -> None:
        stage.fact("played", True, "the case")


def apply(stage: Stage) -> None:
    """Three events are published, delivered and applied once each, by this process."""
    business = Business(stage.business_url, stage.ledger.run, stage.case, "tiny")
    business.create()
    for event in EVENTS:
        number = stage.ledger.attempt(stage.case, event, "tiny")
        stage.ledger.settle(stage.case, event, number, Outcome.CONFIRMED)
        stage.ledger.delivered(stage.case, event, "tiny", "nowhere")
        with business.transaction() as connection:
            business.handle(connection, Event(event, event.encode(), "nowhere"), "tiny")
    business.close()


def judge_setting(seen: Seen) -> Judgement:
    hold("", "judge")
    found = seen.cases["setting"].reconciliation
    if found is None:
        return Judgement(Verdict.UNKNOWN, "nothing was reconciled")
    return Judgement(found.verdict, f"trouble: {found.trouble()}, undrained: {found.undrained}")


def judge_second(seen: Seen) -> Judgement:
    played = seen.cases["second"].facts.get("played")
    return Judgement(Verdict.PASS if played else Verdict.FAIL, f"played: {played}")


def lack(_: Any) -> str | None:
    hold("", "preflight")
    return order("lack", None)


DRILL = Drill(
    name="tiny",
    question="Does the engine put everything back?",
    question_vi="Bộ máy có trả lại mọi thứ không?",
    systems=(),
    cases=(Setting(), Second()),
    criteria=(
        Criterion(
            1, "three events, one effect each", "ba sự kiện, mỗi sự kiện một tác động", judge_setting, ("setting",)
        ),
        Criterion(2, "the second case is played", "ca thứ hai được chạy", judge_second, ("second",)),
    ),
    parameters=lambda quick: {"events": 1 if quick else len(EVENTS), "budget": {"seconds": 30}},
    lack=lack,
)
