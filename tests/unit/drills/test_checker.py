"""The checker objects to each planted event by its ID, and says of which class a reconciler is blind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from drills import checker
from drills.checker import Checked, check, draw
from drills.ledger import Ledger, tables
from drills.ledger.database import sqlite_url
from drills.model.drain import Drain, Reading
from drills.model.verdict import Verdict
from drills.reconcile import Account, Reconciliation, reconcile
from tests.ledger_claims import opened


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    ledger = opened(sqlite_url(tmp_path / "ledger.db"))
    yield ledger
    ledger.close()


class Books:
    """The smallest business there is, and an account of it from the ledger's rows."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.effects: Counter[tuple[str, str]] = Counter()

    def apply(self, case: str, event_id: str) -> None:
        self.effects[case, event_id] += 1

    def account(self, case: str) -> Account:
        effects = Counter({event: times for (of, event), times in self.effects.items() if of == case})
        deliveries = Counter(row["event_id"] for row in self.ledger.rows(tables.deliveries, case))
        seen = self.ledger.facts()[case]["drain"]
        drain = Drain(seen["leader"], seen["sentinel"], [Reading(**reading) for reading in seen["readings"]])
        return Account(self.ledger.attempts(case), deliveries, effects, drain=drain)


def checked(ledger: Ledger) -> Checked:
    books = Books(ledger)
    return check(ledger, books.apply, books.account)


def test_a_right_reconciler_objects_to_every_planted_event(ledger: Ledger) -> None:
    result = checked(ledger)
    assert ({}, Verdict.PASS, None) == (result.missed, result.verdict, result.lack())
    fates = {"lost", "doubled", "unexpected", "recovered", "unresolved", "redelivered", "undrained", "clean"}
    assert fates == result.planted.keys()
    assert 8 == len(set(result.planted.values()))
    assert {"planted": result.planted, "missed": {}} == ledger.facts()[""]["checker"]


def without(**changes: Any) -> Callable[[Account], Reconciliation]:
    return lambda account: replace(reconcile(account), **changes)


def names_all_as_lost(account: Account) -> Reconciliation:
    return replace(reconcile(account), lost=tuple(sorted({attempt.event_id for attempt in account.attempts})))


MUTANTS = {
    "lost": (without(lost=()), {"lost", "undrained"}),
    "unexpected": (without(unexpected=()), {"unexpected"}),
    "duplicate effect": (without(duplicate_effect=()), {"doubled"}),
    "duplicate delivery": (without(duplicate_delivery=()), {"redelivered"}),
    "recovered": (without(recovered=()), {"recovered"}),
    "unresolved": (without(unresolved=()), {"unresolved"}),
    "undrained": (without(undrained=None), {"undrained"}),
    "drained": (without(undrained="never"), {"clean"}),
    "objects to all": (names_all_as_lost, {"lost"}),
}


@pytest.mark.parametrize(("mutant", "blind_to"), MUTANTS.values(), ids=MUTANTS)
def test_a_reconciler_that_lacks_a_class_is_found_out(
    mutant: Callable[[Account], Reconciliation],
    blind_to: set[str],
    ledger: Ledger,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checker, "reconcile", mutant)
    result = checked(ledger)
    assert blind_to == result.missed.keys()
    assert Verdict.UNKNOWN == result.verdict
    assert all(result.planted[fate] in (result.lack() or "") for fate in blind_to)
    assert dict(result.missed) == ledger.facts()[""]["checker"]["missed"]


def test_an_account_that_leaves_an_event_out_is_found_out(ledger: Ledger) -> None:
    """The run's own code is checked, not the reconciler alone: here its account forgets what is pending or unknown."""
    books = Books(ledger)

    def account(case: str) -> Account:
        whole = books.account(case)
        return replace(whole, attempts=[attempt for attempt in whole.attempts if not attempt.outcome.is_unknown])

    result = check(ledger, books.apply, account)
    assert {"unexpected", "recovered", "unresolved"} == result.missed.keys()


def test_a_business_that_swallows_effects_is_found_out(ledger: Ledger) -> None:
    result = check(ledger, lambda *_: None, Books(ledger).account)
    assert {"lost", "doubled", "unexpected", "recovered", "unresolved"} == result.missed.keys()


def test_the_same_seed_draws_the_same_ids_and_another_one_others() -> None:
    assert draw(7) == draw(7)
    assert draw(7) != draw(8)
