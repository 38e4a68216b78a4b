"""Drains, outcomes, and how verdicts become an exit code."""

from __future__ import annotations

import itertools

import pytest

from drills.model.drain import APART, Drain, Reading
from drills.model.publish import Outcome
from drills.model.verdict import Exit, Verdict, exit_of

ZERO, LATER = Reading(100.0, 0, 0), Reading(100.0 + APART + 0.1, 0, 0)


@pytest.mark.parametrize(
    ("lack", "drain"),
    [
        (None, Drain("one", "sentinel-1", [ZERO, LATER])),
        (None, Drain("one", "sentinel-1", [Reading(90.0, 3, 1), ZERO, Reading(103.0, 0, 0), LATER])),
        ("no leader was seen", Drain(None, "sentinel-1", [ZERO, LATER])),
        ("no leader was seen", Drain("", "sentinel-1", [ZERO, LATER])),
        ("no sentinel was consumed", Drain("one", None, [ZERO, LATER])),
        ("nothing was read", Drain("one", "sentinel-1", [])),
        (
            "two zero readings more than 5 s apart are needed, not 0.0",
            Drain("one", "sentinel-1", [ZERO]),
        ),
        (
            "two zero readings more than 5 s apart are needed, not 5.0",
            Drain("one", "sentinel-1", [ZERO, Reading(100.0 + APART, 0, 0)]),
        ),
        (
            "the last reading is not zero: Reading(at=106.0, waiting=0, unacked=1)",
            Drain("one", "sentinel-1", [ZERO, Reading(106.0, 0, 1)]),
        ),
        (
            "two zero readings more than 5 s apart are needed, not 0.1",
            Drain("one", "sentinel-1", [ZERO, Reading(105.0, 1, 0), Reading(105.0, 0, 0), LATER]),
        ),
    ],
)
def test_a_drain_is_proven_by_leader_sentinel_and_two_zeros_apart(lack: str | None, drain: Drain) -> None:
    assert lack == drain.lack()


def test_what_was_not_answered_or_refused_is_unknown() -> None:
    assert {"pending", "nacked", "unknown"} == {outcome.value for outcome in Outcome if outcome.is_unknown}


def expected_exit(verdicts: tuple[Verdict, ...]) -> Exit:
    if "FAIL" in verdicts:
        return Exit.FAIL
    if verdicts and all(verdict == "PASS" for verdict in verdicts):
        return Exit.PASS
    return Exit.INCONCLUSIVE


@pytest.mark.parametrize("count", range(4))
def test_a_failure_wins_and_only_passes_pass(count: int) -> None:
    for verdicts in itertools.product(Verdict, repeat=count):
        assert expected_exit(verdicts) == exit_of(verdicts), verdicts


def test_exit_codes_are_those_that_are_published() -> None:
    assert {
        "PASS": 0,
        "FAIL": 1,
        "USAGE": 2,
        "REFUSED": 3,
        "INCONCLUSIVE": 4,
        "ABORTED": 5,
        "ROLLBACK_FAILED": 6,
    } == {code.name: code.value for code in Exit}
