"""Judging a run on what is stored of it: by the run itself, and by `analyze` after any end of the run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from drills.checker import FACT
from drills.engine.drill import PHASES, Criterion
from drills.engine.seeing import seen
from drills.ledger import Ledger, tables
from drills.model.seen import Seen
from drills.model.verdict import Judgement, Verdict


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a case came. `error`: why it went no further; "" when it was cut off, or went to its end."""

    phase: str
    state: str  # began, ended, failed
    error: str = ""

    @property
    def finished(self) -> bool:
        """All its phases ran to their end."""
        return self.phase == PHASES[-1] and self.state == "ended"


def progress(ledger: Ledger) -> dict[str, Progress]:
    """Case -> how far it came. A case that never began is not in it."""
    found = {}
    for row in ledger.rows(tables.timeline):
        if row["kind"] == "phase" and row["case"]:
            data = row["data"]
            found[row["case"]] = Progress(data["phase"], data["state"], data.get("error", ""))
    return found


def judge(criteria: Iterable[Criterion], ledger: Ledger, told: Callable[[Criterion, Judgement], None]) -> list[Verdict]:
    """Judges, stores and tells each criterion; the verdicts."""
    world, how_far = seen(ledger), progress(ledger)
    lack = checker_lack(ledger)
    verdicts = []
    for criterion in criteria:
        found = _judged(criterion, world, how_far)
        if found.verdict is Verdict.PASS and lack is not None:
            found = replace(found, verdict=Verdict.UNKNOWN, because=f"the checker failed: {lack}")
        ledger.judge(criterion.number, found)
        ledger.note("criterion", f"criterion {criterion.number}: {found.verdict.value}: {found.because}")
        told(criterion, found)
        verdicts.append(found.verdict)
    return verdicts


def checker_lack(ledger: Ledger) -> str | None:
    """Why the checker proves nothing in this run; None when it objected to all that was planted."""
    stored = ledger.facts().get("", {}).get(FACT)
    if stored is None:
        return "it was not run to its end"
    if "error" in stored:
        return str(stored["error"])
    missed = stored["missed"]
    told = [f"{fate} {stored['planted'][fate]} ({said})" for fate, said in missed.items()]
    return f"it did not object to {', '.join(told)}" if told else None


def _judged(criterion: Criterion, world: Seen, how_far: dict[str, Progress]) -> Judgement:
    """The judgement of a criterion whose cases all finished, with every fault proven; else why there is none."""
    for name in criterion.cases:
        if name not in how_far:
            return Judgement(Verdict.NOT_RUN, f"case {name} was not begun")
    for name in criterion.cases:
        if not how_far[name].finished:
            return _unfinished(name, how_far[name])
    try:
        found = criterion.judge(world)
    except Exception as error:  # noqa: BLE001 - a criterion that can't be judged is unknown, whatever the reason
        return Judgement(Verdict.UNKNOWN, f"it could not be judged: {type(error).__name__}: {error}")
    unproven = [
        f"{change.kind} {dict(change.arguments)} in {name}"
        for name in criterion.cases
        for change in world.cases[name].changes
        if change.is_fault and change.bite is None
    ]
    if unproven and found.verdict is Verdict.PASS:
        return replace(found, verdict=Verdict.UNKNOWN, because=f"not proven to have bitten: {'; '.join(unproven)}")
    return found


def _unfinished(case: str, found: Progress) -> Judgement:
    if found.error:
        return Judgement(Verdict.UNKNOWN, f"case {case} failed in {found.phase}: {found.error}")
    return Judgement(Verdict.NOT_RUN, f"the run ended in {found.phase} of case {case}")
