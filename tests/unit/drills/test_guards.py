"""What is asked before a target is broken."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest

from drills.engine import guards
from drills.engine.errors import Refused, WrongUse
from drills.faults.kill_node import KillNode
from drills.lab import record
from drills.targets import file as target_file
from drills.targets.target import Target
from tests.tiny.catalog.tiny import Setting
from tests.tiny.world import TARGET, World


class Terminal(io.StringIO):
    """A terminal at which somebody has typed."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Target:
    World.make(tmp_path, monkeypatch)
    return target_file.find(TARGET)


def test_the_typed_name_or_yes_confirms(target: Target) -> None:
    guards.check_confirmed(target, None, Terminal("nothing\n"), "the line")
    guards.check_confirmed(target, "nothing", io.StringIO(), "the line")


REFUSED = {
    "another name is typed": (None, Terminal("production\n"), "'production' is not 'nothing'; nothing was touched"),
    "nothing is typed": (None, Terminal(""), "'' is not 'nothing'; nothing was touched"),
    "--yes names another": (
        "production",
        Terminal("nothing\n"),
        "--yes names 'production', and the target is 'nothing'",
    ),
    "nobody can be asked": (None, io.StringIO("nothing\n"), "run: the line"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_confirmed_is_refused(target: Target, case: str) -> None:
    yes, terminal, told = REFUSED[case]
    with pytest.raises(Refused, match=told):
        guards.check_confirmed(target, yes, terminal, "the line")


def test_only_the_run_that_marked_a_target_unmarks_it(target: Target, tmp_path: Path) -> None:
    guards.mark_left(target, tmp_path / "one")
    guards.unmark_left(target, tmp_path / "other")
    with pytest.raises(Refused, match=f"mq-drill recover {tmp_path / 'one'}"):
        guards.check_clean(target)
    guards.unmark_left(target, tmp_path / "one")
    guards.check_clean(target)


def test_brokers_and_controllers_are_quorums_of_their_own(target: Target, tmp_path: Path) -> None:
    path = tmp_path / "labs" / TARGET
    found = record.load(path)
    assert found is not None
    record.save(path, replace(found, systems=("kafka", "rabbitmq")))
    whole = target_file.find(TARGET)
    of = {node: whole.quorum(node) for node in ("kafka-2", "kafka-controller-1", "rabbitmq-3")}
    assert {
        "kafka-2": ["kafka-1", "kafka-2", "kafka-3"],
        "kafka-controller-1": ["kafka-controller-1", "kafka-controller-2", "kafka-controller-3"],
        "rabbitmq-3": ["rabbitmq-1", "rabbitmq-2", "rabbitmq-3"],
    } == of


def test_a_fault_is_refused_while_another_member_is_down(target: Target, tmp_path: Path) -> None:
    """None of these nodes runs, so none may be taken."""
    path = tmp_path / "labs" / TARGET
    found = record.load(path)
    assert found is not None
    record.save(path, replace(found, systems=("kafka",)))
    with pytest.raises(Refused, match="would leave kafka-1, kafka-2, kafka-3 gone at once; setting is not about that"):
        guards.check_quorum(target_file.find(TARGET), Setting(), KillNode("kafka-1"))


WRONG = {
    "unknown key": (
        "name: a\nkind: lab\nlab: a\ndrilable: true\n",
        "unknown key drilable; the keys are name, kind, lab, ",
    ),
    "no name": ("kind: lab\nlab: a\n", "name must be there, as text"),
    "another kind": ("name: a\nkind: docker\nlab: a\n", "kind 'docker' is not known; choose from lab"),
    "no truth": ("name: a\nkind: lab\nlab: a\ndrillable: 'yes'\n", "drillable must be true or false, not 'yes'"),
    "no URL": (
        "name: a\nkind: lab\nlab: a\nprometheus_url: localhost\n",
        "prometheus_url must be an http:// or https:// URL",
    ),
    "a list": ("- a\n", "expected keys such as `name:`, found list"),
    "no YAML": ("name: [\n", "can't be read as YAML"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_target_file_is_refused_whole(tmp_path: Path, case: str) -> None:
    text, told = WRONG[case]
    path = tmp_path / "target.yaml"
    path.write_text(text)
    with pytest.raises(WrongUse) as refused:
        target_file.parse(path)
    assert str(path) in str(refused.value)
    assert told in str(refused.value)
