"""Every class of the reconciliation: met, broken and unknown; then all of them against the definitions, ID by ID."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from drills.model.drain import Drain, Reading
from drills.model.publish import Attempt, Outcome
from drills.model.verdict import Verdict
from drills.reconcile import Account, Reconciliation, reconcile

DRAINED = Drain("rabbit@one", "sentinel-1", [Reading(10.0, 0, 0), Reading(15.5, 0, 0)])
UNDRAINED = Drain("rabbit@one", "sentinel-1", [Reading(10.0, 0, 0), Reading(15.5, 1, 0)])
NOT_ZERO = "the last reading is not zero: Reading(at=15.5, waiting=1, unacked=0)"
CLASSES = ("lost", "unexpected", "duplicate_delivery", "duplicate_effect", "recovered", "unresolved")


def attempts(**outcomes: str) -> list[Attempt]:
    """`E1="unknown confirmed"`: two attempts of E1."""
    return [
        Attempt(event, number, Outcome(outcome))
        for event, text in outcomes.items()
        for number, outcome in enumerate(text.split(), 1)
    ]


def account(outcomes: Mapping[str, str], *, drain: Drain | None = DRAINED, **values: Any) -> Account:
    """An account in which each event with an effect was delivered once, unless told otherwise."""
    effects = Counter(values.pop("effects", {}))
    deliveries = Counter(values.pop("deliveries", dict.fromkeys(effects, 1)))
    return Account(attempts(**outcomes), deliveries, effects, drain=drain, **values)


def found(**classes: Iterable[str]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(classes.get(name, ())) for name in CLASSES}


def classes(result: Reconciliation) -> dict[str, tuple[str, ...]]:
    return {name: getattr(result, name) for name in CLASSES}


@pytest.mark.parametrize(
    ("expected", "verdict", "of"),
    [
        pytest.param({}, Verdict.PASS, account({"E1": "confirmed"}, effects={"E1": 1}), id="nothing lost"),
        pytest.param({"lost": ["E1"]}, Verdict.FAIL, account({"E1": "confirmed"}), id="lost"),
        pytest.param({"lost": ["E1"]}, Verdict.UNKNOWN, account({"E1": "confirmed"}, drain=UNDRAINED), id="not yet"),
        pytest.param({}, Verdict.PASS, account({"E1": "confirmed"}, quarantined={"E1"}), id="quarantined is not lost"),
        pytest.param({}, Verdict.PASS, account({"E1": "confirmed"}, dead_letters={"E1"}), id="dead-lettered is not"),
        pytest.param({"lost": ["E1"]}, Verdict.FAIL, account({"E1": "confirmed"}, effects={"E1": 0}), id="0 is none"),
        pytest.param(
            {"lost": ["E1"]},
            Verdict.FAIL,
            account({"E1": "confirmed"}, deliveries={"E1": 1}),
            id="delivered is not done",
        ),
        pytest.param(
            {"lost": ["E1"]},
            Verdict.FAIL,
            account({"E1": "confirmed"}, retry_decisions={"E1"}),
            id="a retry finds none",
        ),
        pytest.param({"unexpected": ["X"]}, Verdict.FAIL, account({}, effects={"X": 1}), id="unexpected effect"),
        pytest.param({"unexpected": ["X"]}, Verdict.FAIL, account({}, quarantined={"X"}), id="unexpected quarantine"),
        pytest.param(
            {"unexpected": ["X"]},
            Verdict.FAIL,
            account({}, effects={"X": 1}, drain=None),
            id="draining on does not undo it",
        ),
        pytest.param(
            {"duplicate_delivery": ["E1"]},
            Verdict.PASS,
            account({"E1": "confirmed"}, effects={"E1": 1}, deliveries={"E1": 2}),
            id="a second delivery is allowed",
        ),
        pytest.param(
            {"duplicate_effect": ["E1"]},
            Verdict.FAIL,
            account({"E1": "confirmed"}, effects={"E1": 2}, deliveries={"E1": 1}),
            id="a second effect never",
        ),
        pytest.param(
            {"duplicate_effect": ["E1"]},
            Verdict.FAIL,
            account({"E1": "confirmed"}, effects={"E1": 2}, deliveries={"E1": 1}, drain=UNDRAINED),
            id="a second effect, not drained",
        ),
        pytest.param(
            {"recovered": ["E1"]}, Verdict.PASS, account({"E1": "pending"}, effects={"E1": 1}), id="recovered"
        ),
        pytest.param(
            {"recovered": ["E1"]},
            Verdict.PASS,
            account({"E1": "unknown confirmed"}, effects={"E1": 1}),
            id="recovered by sending again",
        ),
        pytest.param({"unresolved": ["E1"]}, Verdict.FAIL, account({"E1": "nacked"}), id="unresolved"),
        pytest.param(
            {"unresolved": ["E1"]}, Verdict.UNKNOWN, account({"E1": "pending"}, drain=UNDRAINED), id="unresolved yet"
        ),
        pytest.param({}, Verdict.PASS, account({"E1": "unknown"}, retry_decisions={"E1"}), id="decided about"),
        pytest.param({}, Verdict.PASS, account({"E1": "unknown"}, quarantined={"E1"}), id="unknown and set aside"),
        pytest.param({}, Verdict.PASS, account({"E1": "returned"}), id="a returned one was promised to nobody"),
        pytest.param({}, Verdict.UNKNOWN, account({}, drain=None), id="an empty account proves nothing undrained"),
    ],
)
def test_each_class(expected: dict[str, list[str]], verdict: Verdict, of: Account) -> None:
    result = reconcile(of)
    assert found(**expected) == classes(result)
    assert verdict == result.verdict
    never = {name: ids for name, ids in found(**expected).items() if ids and name not in CLASSES[2::2]}
    assert never == result.trouble()


@pytest.mark.parametrize(("expected", "drain"), [(None, DRAINED), ("no drain was tried", None), (NOT_ZERO, UNDRAINED)])
def test_why_it_is_not_drained_is_told(expected: str | None, drain: Drain | None) -> None:
    assert expected == reconcile(account({}, drain=drain)).undrained


def test_every_lost_id_is_located_and_no_other() -> None:
    places = {"E2": "queue work, redelivered", "E3": "database"}
    lost = account(dict.fromkeys(("E1", "E2", "E3"), "confirmed"), effects={"E3": 1}, seen_at=places)
    assert {"E1": "nowhere", "E2": "queue work, redelivered"} == reconcile(lost).located


def test_everything_at_once() -> None:
    result = reconcile(
        account(
            {
                "clean": "confirmed",
                "lost": "confirmed",
                "doubled": "confirmed",
                "recovered": "unknown confirmed",
                "open": "pending",
                "decided": "unknown",
                "aside": "confirmed",
                "returned": "returned",
            },
            effects={"clean": 1, "doubled": 2, "recovered": 1, "alien": 1},
            deliveries={"clean": 3, "doubled": 1, "recovered": 1, "alien": 1},
            quarantined={"aside", "stranger"},
            retry_decisions={"decided"},
        )
    )
    expected = found(
        lost=["lost"],
        unexpected=["alien", "stranger"],
        duplicate_delivery=["clean"],
        duplicate_effect=["doubled"],
        recovered=["recovered"],
        unresolved=["open"],
    )
    assert expected == classes(result)


def by_definition(of: Account, event: str) -> set[str]:
    """The classes of one ID, told from drills.md's table alone and without sets."""
    outcomes = [attempt.outcome for attempt in of.attempts if attempt.event_id == event]
    effects = of.effects[event]
    kept = effects >= 1 or event in of.quarantined or event in of.dead_letters
    confirmed = any(outcome == "confirmed" for outcome in outcomes)
    unknown = any(outcome in ("pending", "nacked", "unknown") for outcome in outcomes)
    true = {
        "lost": confirmed and not kept,
        "unexpected": not outcomes and (effects >= 1 or event in of.quarantined),
        "duplicate_delivery": of.deliveries[event] >= 2,
        "duplicate_effect": effects >= 2,
        "recovered": unknown and effects >= 1,
        "unresolved": unknown and not confirmed and not kept and event not in of.retry_decisions,
    }
    return {name for name, holds in true.items() if holds}


def random_account(chance: random.Random, events: list[str]) -> Account:
    def some() -> set[str]:
        return {event for event in events if chance.random() < 0.2}

    made = []
    for event in events:
        made += [Attempt(event, n, chance.choice(list(Outcome))) for n in range(1, chance.choice((0, 1, 1, 2, 3)) + 1)]
    chance.shuffle(made)
    effects = Counter({event: chance.choice((0, 1, 1, 1, 2)) for event in some() | some() | some()})
    deliveries = Counter({event: chance.choice((0, 1, 2, 3)) for event in events})
    drain = chance.choice((DRAINED, UNDRAINED, None))
    return Account(made, deliveries, effects, some(), some(), some(), drain=drain)


@pytest.mark.parametrize("seed", range(40))
def test_random_accounts_agree_with_the_definitions(seed: int) -> None:
    events = [f"E{number:03}" for number in range(25)]
    of = random_account(random.Random(seed), events)
    expected = found(**{name: [event for event in events if name in by_definition(of, event)] for name in CLASSES})
    result = reconcile(of)
    assert expected == classes(result)
    assert set(expected["lost"]) == result.located.keys()
    beyond_repair = expected["unexpected"] or expected["duplicate_effect"]
    clean = not (beyond_repair or expected["lost"] or expected["unresolved"])
    assert (Verdict.PASS == result.verdict) == (clean and of.drain is DRAINED)
    assert (Verdict.FAIL == result.verdict) == bool(beyond_repair or (not clean and of.drain is DRAINED))


def test_attempts_may_be_read_only_once() -> None:
    of = account({"E1": "confirmed"}, effects={"E1": 1})
    assert reconcile(of) == reconcile(Account(iter(list(of.attempts)), of.deliveries, of.effects, drain=DRAINED))
