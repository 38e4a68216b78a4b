"""The drill itself on a real cluster: it passes on what is right, and objects to what is wrong."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from drills.actors.worker import start
from drills.catalog import partition_lag
from drills.engine.driver import Driver, Options
from drills.engine.screen import Screen
from drills.lab import Lab
from drills.model.verdict import Exit, Verdict
from drills.targets import file as target_file
from tests import mutants
from tests.broker.conftest import session_lab

QUICK_ONES = {"default_partitioner": [1], "control_drained": [4]}  # those that need no deadline to pass


@pytest.fixture
def kafka_lab(request: pytest.FixtureRequest) -> Lab:
    return session_lab(request, ("kafka", "prometheus"))


def test_a_quick_run_passes_all_eight_and_leaves_nothing(
    kafka_lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MQOPS_RUNS", str(tmp_path))
    said = io.StringIO()
    target = target_file.find(kafka_lab.name)
    driver = Driver(partition_lag.DRILL, target, Options(seed=8, quick=True), Screen(said), start)
    code = driver.play()
    found = driver.ledger.judgements()
    assert dict.fromkeys(range(1, 9), Verdict.PASS) == {n: one.verdict for n, one in found.items()}, said.getvalue()
    assert Exit.PASS == code
    brokers = [kafka_lab.node(f"kafka-{number}").condition() for number in (1, 2, 3)]
    assert (["serving"] * 3, []) == (brokers, target.watched())


@pytest.mark.parametrize("name", QUICK_ONES)
def test_it_objects_to_a_wrong_application(
    name: str, kafka_lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`make mutants` runs all of them."""
    monkeypatch.setenv("MQOPS_RUNS", str(tmp_path))
    mutant = mutants.PARTITION_LAG[name]
    found = mutants.run(mutant, kafka_lab.name, QUICK_ONES[name])
    assert {} == {n: lack for n, one in found.items() if (lack := mutant.expected[n].lack(one)) is not None}
