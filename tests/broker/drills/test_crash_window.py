"""The drill itself on a real cluster: it passes on what is right, and objects to what is wrong."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from drills.actors.worker import start
from drills.catalog import crash_window
from drills.engine.driver import Driver, Options
from drills.engine.screen import Screen
from drills.lab import Lab
from drills.model.verdict import Exit, Verdict
from drills.scenes.wrong import CLOCK_STEPS, Wrong
from drills.targets import file as target_file
from tests import mutants

QUICK_ONES = {"skips_one": [1], "redelivery_hidden": [2], "confirmed_before_confirm": [6]}


def test_a_quick_run_passes_all_eight_and_says_that_it_was_quick(
    rabbitmq_lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MQOPS_RUNS", str(tmp_path))
    said = io.StringIO()
    target = target_file.find(rabbitmq_lab.name)
    driver = Driver(crash_window.DRILL, target, Options(seed=8, quick=True), Screen(said), start)
    code = driver.play()
    found = driver.ledger.judgements()
    assert dict.fromkeys(range(1, 9), Verdict.PASS) == {n: one.verdict for n, one in found.items()}, said.getvalue()
    assert Exit.PASS == code
    shrunk = {number for number, one in found.items() if "not the full proof" in one.because}
    assert set(range(1, 9)) == shrunk
    assert ["serving"] * 3 == [rabbitmq_lab.node(f"rabbitmq-{n}").condition() for n in (1, 2, 3)]


def test_a_clock_that_jumps_back_by_an_hour_in_the_workers_changes_no_verdict_and_no_time(
    rabbitmq_lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, postgresql_url: str
) -> None:
    """With the business in PostgreSQL. Seen to fail with workers that write the machine's time."""
    monkeypatch.setenv("MQOPS_RUNS", str(tmp_path))
    said = io.StringIO()
    drill = crash_window.drill(Wrong(environment=CLOCK_STEPS))
    options = Options(seed=8, quick=True, only=(3,), rto=90.0, business_url=postgresql_url)
    driver = Driver(drill, target_file.find(rabbitmq_lab.name), options, Screen(said), start)
    assert Exit.PASS == driver.play(), said.getvalue()
    [times] = [facts["recovery"] for facts in driver.ledger.facts().values() if "recovery" in facts]
    assert 0 < times["service_seconds"] < times["drained_seconds"] < 180


@pytest.mark.parametrize("name", QUICK_ONES)
def test_it_objects_to_a_wrong_application(
    name: str, rabbitmq_lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`make mutants` runs all of them."""
    monkeypatch.setenv("MQOPS_RUNS", str(tmp_path))
    mutant = mutants.CRASH_WINDOW[name]
    found = mutants.run(mutant, rabbitmq_lab.name, QUICK_ONES[name])
    assert {} == {n: lack for n, one in found.items() if (lack := mutant.expected[n].lack(one)) is not None}
