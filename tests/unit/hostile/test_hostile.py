"""1,000 damaged answers of each system: no fault, no hang, no growth, no wrong page, and all is well afterwards.

Two sieges each, every one in a process of its own, so that they can go on side by side and growth is their own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.hostile.siege import DEADLINE, Outcome, honest
from tests.unit.hostile.systems import SYSTEMS
from tests.unit.hostile.watched import Watched

ROOT = Path(__file__).parents[3]
PATIENCE = 600.0  # of a whole siege, which takes half a minute
MORE_OBJECTS = 1.02  # times as many as after the first third
MORE_ALLOCATED = 3.0  # MiB than after the first third
MORE_RESIDENT = 32.0  # MiB: an answer of the largest size, and all that is made of it, may come late


def besieged(system: str, seed: int, answers: int, *mutation: str) -> Outcome:
    """The outcome. Raises AssertionError with what the process said when it failed, or when a thread of it died."""
    command = [sys.executable, "-m", "tests.unit.hostile.siege", system, str(seed), str(answers), *mutation]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (0, "") == (done.returncode, done.stderr), done.stderr
    return Outcome(**json.loads(done.stdout))


def check(outcome: Outcome, answers: int) -> None:
    assert outcome.damaged >= answers
    assert outcome.slowest < DEADLINE
    third = len(outcome.objects) // 3
    assert outcome.objects[-1] < outcome.objects[third] * MORE_OBJECTS, outcome.objects
    assert outcome.allocated[-1] < outcome.allocated[third] + MORE_ALLOCATED, outcome.allocated
    assert outcome.resident[-1] < outcome.resident[third] + MORE_RESIDENT, outcome.resident


@pytest.mark.parametrize("seed", [4, pytest.param(5, marks=pytest.mark.slow)])
@pytest.mark.parametrize("system", SYSTEMS)
def test_500_damaged_answers_change_nothing_that_lasts(system: str, seed: int) -> None:
    check(besieged(system, seed, 500), 500)


@pytest.mark.slow
def test_growth_in_bytes_would_be_seen() -> None:
    outcome = besieged("rabbitmq", 6, 300, "answers_are_kept")
    with pytest.raises(AssertionError):
        check(outcome, 300)


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_recorded_answers_are_read_whole(name: str) -> None:
    system = SYSTEMS[name]()
    with system.cluster(0) as peer, Watched(system.section(), system.reader, DEADLINE) as watched:
        page = honest(watched, peer, system.facts)
        assert set(system.facts) == {family for family, _ in page}
        assert all(run.success for run in watched.poller.snapshots()[name].runs)
