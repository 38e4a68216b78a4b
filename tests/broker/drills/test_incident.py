"""The drill itself on a real cluster: it passes on what is right, and objects to what is wrong."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from drills.actors.worker import start
from drills.catalog import incident
from drills.engine.driver import Driver, Options
from drills.engine.screen import Screen
from drills.lab import Lab
from drills.model.verdict import Exit, Verdict
from drills.targets import file as target_file
from tests import mutants
from tests.broker.conftest import session_lab

QUICK_ONES = {"replay_skips_one": [8], "offset_apart": [3]}  # those that need no deadline to pass


@pytest.fixture
def incident_lab(request: pytest.FixtureRequest) -> Lab:
    return session_lab(request, ("kafka", "rabbitmq", "prometheus"))


def test_a_quick_run_passes_all_but_what_a_plain_lab_lacks_and_leaves_nothing(
    incident_lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Criterion 7 needs TLS and logins: tests/broker/secure plays it."""
    monkeypatch.setenv("MQOPS_RUNS", str(tmp_path))
    said = io.StringIO()
    target = target_file.find(incident_lab.name)
    driver = Driver(incident.DRILL, target, Options(seed=8, quick=True), Screen(said), start)
    code = driver.play()
    found = {number: one.verdict for number, one in driver.ledger.judgements().items()}
    assert {**dict.fromkeys(range(1, 9), Verdict.PASS), 7: Verdict.BLOCKED} == found, said.getvalue()
    assert Exit.INCONCLUSIVE == code
    conditions = {node.condition() for node in incident_lab.nodes.values()}
    assert ({"serving"}, []) == (conditions, target.watched())
    detected = driver.ledger.facts()["disk-alarm"]["recovery"]["detection_seconds"]
    assert detected is not None
    assert 0 < detected < 60


@pytest.mark.parametrize("name", QUICK_ONES)
def test_it_objects_to_a_wrong_application(
    name: str, incident_lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`make mutants` runs all of them."""
    monkeypatch.setenv("MQOPS_RUNS", str(tmp_path))
    mutant = mutants.INCIDENT[name]
    found = mutants.run(mutant, incident_lab.name, QUICK_ONES[name])
    assert {} == {n: lack for n, one in found.items() if (lack := mutant.expected[n].lack(one)) is not None}
