"""The account of a case as it is made of the ledger's rows and the facts of the case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from drills.engine import seeing
from drills.ledger import Ledger
from drills.ledger.database import sqlite_url
from drills.model.drain import Drain, Reading
from drills.model.publish import Attempt, Outcome
from drills.reconcile import Account
from tests.ledger_claims import opened
from tests.stored_run import Clock

DRAIN = {"leader": "rabbit@one", "sentinel": "sentinel-1", "readings": [{"at": 1.0, "waiting": 2, "unacked": 1}]}


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ledger]:
    clock = Clock()
    monkeypatch.setattr("drills.ledger.ledger.time", clock)
    monkeypatch.setattr("drills.ledger.clock.now", clock.time)
    ledger = opened(sqlite_url(tmp_path / "ledger.db"))
    yield ledger
    ledger.close()


def test_all_of_it_without_sentinels_and_other_cases(ledger: Ledger) -> None:
    for case, event in (("a", "E1"), ("a", "sentinel-1"), ("b", "E2")):
        ledger.settle(case, event, ledger.attempt(case, event, "w"), Outcome.CONFIRMED)
        ledger.delivered(case, event, "w", "work")
    effects = {"E1": 1, "sentinel-1": 1}
    facts = {"effects": effects, "quarantined": ["E3", "sentinel-2"], "dead_letters": ["E4"], "drain": DRAIN}
    expected = Account(
        attempts=[Attempt("E1", 1, Outcome.CONFIRMED)],
        deliveries=Counter(["E1"]),
        effects=Counter(["E1"]),
        quarantined=frozenset({"E3"}),
        dead_letters=frozenset({"E4"}),
        seen_at={"E1": "the queue"},
        drain=Drain("rabbit@one", "sentinel-1", [Reading(1.0, 2, 1)]),
    )
    assert expected == seeing.account(ledger, "a", {**facts, "seen_at": {"E1": "the queue"}})


def test_without_effects_that_were_read_there_is_none(ledger: Ledger) -> None:
    ledger.attempt("a", "E1", "w")
    assert None is seeing.account(ledger, "a", {"drain": DRAIN})
    assert None is seeing.reconciliation(ledger, "a", {})


def decided(ledger: Ledger) -> frozenset[str]:
    found = seeing.account(ledger, "a", {"effects": {}})
    assert found is not None
    return frozenset(found.retry_decisions)


def test_a_decision_settles_only_the_attempts_before_it(ledger: Ledger) -> None:
    ledger.attempt("a", "E1", "w")
    assert frozenset() == decided(ledger)
    ledger.decide("a", "E1", "retry")
    assert {"E1"} == decided(ledger)
    ledger.attempt("a", "E1", "w")
    assert frozenset() == decided(ledger)
    result = seeing.reconciliation(ledger, "a", {"effects": {}, "drain": None})
    assert result is not None
    assert ("E1",) == result.unresolved
    ledger.decide("a", "E1", "give_up")
    assert {"E1"} == decided(ledger)


def test_only_a_retry_or_giving_up_settles_anything(ledger: Ledger) -> None:
    ledger.attempt("a", "E1", "w")
    ledger.decide("a", "E1", "looked at")
    assert frozenset() == decided(ledger)
