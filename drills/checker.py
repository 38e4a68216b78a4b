"""The checker is checked: events whose fate is known go through the run's own tables, and each must be objected to."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass

from drills.ledger import Ledger
from drills.model.drain import APART, Drain, Reading
from drills.model.publish import Outcome
from drills.model.verdict import Verdict
from drills.reconcile import Account, Reconciliation, reconcile

CASE, UNDRAINED_CASE = "checker", "checker-undrained"
CASES = (CASE, UNDRAINED_CASE)
FACT = "checker"
WORKER = "checker"
PLACE = "a queue of the checker"

Apply = Callable[[str, str], None]
"""(case, event ID): applies the business effect once more, in the run's own business tables."""

Accounts = Callable[[str], Account]
"""Case -> its account, by the code by which the run's own cases get theirs."""

OBJECTED_BY = {
    "lost": "lost",
    "doubled": "duplicate_effect",
    "unexpected": "unexpected",
    "recovered": "recovered",
    "unresolved": "unresolved",
    "redelivered": "duplicate_delivery",
}
"""What became of a planted event -> the class that must name it, and no other event."""


@dataclass(frozen=True)
class Checked:
    """What the reconciler made of the planted events. `planted`: what became of it -> ID."""

    planted: Mapping[str, str]
    missed: Mapping[str, str]  # what became of it -> what the reconciler said instead

    @property
    def verdict(self) -> Verdict:
        """UNKNOWN when an objection is missing: what this reconciler says of other events proves nothing."""
        return Verdict.UNKNOWN if self.missed else Verdict.PASS

    def lack(self) -> str | None:
        """Which objections are missing; None when there is none."""
        told = [f"{fate} {self.planted[fate]} ({said})" for fate, said in self.missed.items()]
        return f"the reconciler did not object to: {', '.join(told)}" if told else None


def check(ledger: Ledger, apply: Apply, accounts: Accounts) -> Checked:
    """Plants, reconciles, and compares; the result is stored as the run's fact `checker` too.

    The rows stay in cases of their own. Once for each run: a second time would double what was planted.
    """
    planted = draw(int(ledger.about()["seed"]))
    _plant(ledger, apply, planted)
    _plant_undrained(ledger, planted["undrained"])
    whole, undrained = reconcile(accounts(CASE)), reconcile(accounts(UNDRAINED_CASE))
    missed = _missed(whole, planted) | _missed_undrained(undrained, planted["undrained"])
    checked = Checked(planted, missed)
    ledger.fact("", FACT, asdict(checked), "drills.checker")
    return checked


def draw(seed: int) -> dict[str, str]:
    """What becomes of it -> the ID, drawn from the run's seed and of the same form as the IDs of the run."""
    fates = [*OBJECTED_BY, "undrained", "clean"]
    numbers = random.Random(f"{seed}/checker").sample(range(1, 1000), len(fates))  # noqa: S311 - to be repeatable
    return {fate: f"E{number:03}" for fate, number in zip(fates, numbers, strict=True)}


def _plant(ledger: Ledger, apply: Apply, planted: Mapping[str, str]) -> None:
    outcomes = dict.fromkeys(("lost", "doubled", "redelivered", "clean"), Outcome.CONFIRMED)
    for fate, outcome in {**outcomes, "recovered": Outcome.UNKNOWN, "unresolved": Outcome.UNKNOWN}.items():
        number = ledger.attempt(CASE, planted[fate], WORKER)
        ledger.settle(CASE, planted[fate], number, outcome, planted=fate)
    handed_out = ("clean", "doubled", "unexpected", "recovered", "redelivered", "redelivered")
    for fate in handed_out:
        ledger.delivered(CASE, planted[fate], WORKER, PLACE)
    for fate in ("clean", "doubled", "doubled", "unexpected", "recovered", "redelivered"):
        apply(CASE, planted[fate])
    _drain(ledger, CASE, waiting=0)


def _plant_undrained(ledger: Ledger, event_id: str) -> None:
    """Confirmed, and still in the queue at the last reading: whether it is lost cannot be known yet."""
    number = ledger.attempt(UNDRAINED_CASE, event_id, WORKER)
    ledger.settle(UNDRAINED_CASE, event_id, number, Outcome.CONFIRMED, planted="undrained")
    _drain(ledger, UNDRAINED_CASE, waiting=1)


def _drain(ledger: Ledger, case: str, waiting: int) -> None:
    readings = [Reading(0.0, 0, 0), Reading(APART + 1, waiting, 0)]
    ledger.fact(case, "drain", asdict(Drain(PLACE, "a sentinel of the checker", readings)), "drills.checker")


def _missed(result: Reconciliation, planted: Mapping[str, str]) -> dict[str, str]:
    """Each class has to name its event and nothing else; a drain that is proven must be seen as proven."""
    missed = {}
    for fate, name in OBJECTED_BY.items():
        named = getattr(result, name)
        if named != (planted[fate],):
            missed[fate] = f"{name} was {', '.join(named) or 'empty'}"
    if result.undrained is not None or result.verdict is not Verdict.FAIL:
        missed["clean"] = f"the verdict was {result.verdict.value}, drain: {result.undrained or 'proven'}"
    return missed


def _missed_undrained(result: Reconciliation, event_id: str) -> dict[str, str]:
    if event_id in result.lost and result.undrained is not None and result.verdict is Verdict.UNKNOWN:
        return {}
    named = f"lost was {', '.join(result.lost) or 'empty'}"
    return {"undrained": f"{named}, the verdict was {result.verdict.value}, drain: {result.undrained or 'proven'}"}
