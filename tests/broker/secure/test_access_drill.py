"""Criterion 7 of incident, which needs TLS and logins: met, objecting to two wrong set-ups, and nothing left."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from drills.actors.worker import start
from drills.catalog import incident
from drills.engine.driver import Driver, Options
from drills.engine.screen import Screen
from drills.faults.kafka_user import harmless
from drills.faults.secrets import password
from drills.lab import Lab
from drills.ledger import tables
from drills.model.verdict import Verdict
from drills.targets import file as target_file
from drills.targets import kafka_accounts
from drills.targets.kafka_admin import described
from drills.targets.rabbitmq_api import Management
from drills.targets.target import KafkaAddresses, Target
from tests import mutants


@pytest.fixture
def target(secure_lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Target]:
    """Nothing of the run may be left in it."""
    monkeypatch.setenv("MQOPS_RUNS", str(tmp_path))
    found = target_file.find(secure_lab.name)
    before = accounts(found)
    yield found
    assert before == accounts(found)


def accounts(target: Target) -> list[str]:
    return sorted(one["name"] for one in Management(target.rabbitmq).get("users") or [])


def test_locks_rights_and_a_rotation_are_told_apart(target: Target, tmp_path: Path) -> None:
    said = io.StringIO()
    driver = Driver(incident.DRILL, target, Options(seed=8, quick=True, only=(7,)), Screen(said), start)
    driver.play()
    found = driver.ledger.judgements()[7]
    assert Verdict.PASS is found.verdict, said.getvalue()
    rows = driver.ledger.rows(tables.changes)
    users = {
        row["kind"].removesuffix("_user"): row["arguments"]["name"] for row in rows if row["kind"].endswith("_user")
    }
    user = users["kafka"]
    assert ([], False) == (
        kafka_accounts.rights_of(target.kafka, user), kafka_accounts.has_password(target.kafka, user)
    )  # fmt: skip
    written = "".join(path.read_text(errors="replace") for path in tmp_path.rglob("*") if path.is_file())
    assert user in written
    secrets = [password(target, system, name, generation) for system, name in users.items() for generation in (1, 2)]
    assert ([], 4) == ([one for one in secrets if one in written], len(set(secrets)))


def test_it_objects_to_a_rotation_that_did_nothing(target: Target) -> None:
    """`make mutants` also has the account that may do everything."""
    mutant = mutants.INCIDENT["rotates_nothing"]
    found = mutants.run(mutant, target.source, [7])
    assert mutant.expected[7].lack(found[7]) is None


def test_an_account_that_was_removed_takes_no_other_with_it(secure_lab: Lab, target: Target) -> None:
    """Kafka 4.4's brokers forget all accounts at their next start when the wrong one was removed."""
    user = harmless("drill-removed")
    kafka_accounts.set_password(target.kafka, user, "a password")
    kafka_accounts.forget_user(target.kafka, user)
    secure_lab.node("kafka-3").stop()
    secure_lab.node("kafka-3").start()
    assert kafka_accounts.has_password(target.kafka, "admin")
    alone = f"127.0.0.1:{secure_lab.ports.broker(3)}"
    addresses = KafkaAddresses(alone, {**target.kafka.client, "bootstrap.servers": alone})
    assert described(addresses, "no-such-topic") is None  # and it lets us in
