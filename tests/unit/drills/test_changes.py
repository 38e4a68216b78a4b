"""Changes can be rebuilt from the ledger, and put back what was there, and nothing else."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from drills.faults.change import Change, kinds, rebuilt
from drills.faults.disk_limit import DiskLimit
from drills.faults.file import File
from drills.faults.group import Group
from drills.faults.kafka_user import TABLE, KafkaUser, harmless
from drills.faults.kill_node import KillNode
from drills.faults.kill_worker import KillWorker
from drills.faults.partitions import Partitions
from drills.faults.pause_node import PauseNode
from drills.faults.queue import Queue
from drills.faults.rabbitmq_user import RabbitmqUser
from drills.faults.rotation import Rotation
from drills.faults.secrets import password
from drills.faults.silence import Silence
from drills.faults.stop_node import StopNode
from drills.faults.topic import Topic
from drills.faults.vhost import Vhost
from drills.faults.watch import Watch
from drills.targets import file as target_file
from drills.targets.target import KafkaAddresses, RabbitAddresses, Target, TargetError
from tests.tiny.world import TARGET, World

EACH: list[Change] = [
    DiskLimit("rabbitmq-1", 10**15, 50_000_000),
    File("/a", "new", "old"),
    Group("group", "topic", 3),
    KafkaUser("user", [["READ", "TOPIC", "topic"]]),
    KillNode("rabbitmq-1", 1, 2),
    KillWorker("case/worker", 1, 2),
    Partitions("topic", 6),
    PauseNode("rabbitmq-1", 1, 2),
    Queue("vhost", "queue", "quorum", {"x-delivery-limit": 20}),
    RabbitmqUser("user", "vhost", "^$", "^work$", "^work$"),
    Rotation("kafka", "user"),
    Silence("http://127.0.0.1:9093", "run", "drill-run"),
    StopNode("rabbitmq-1", 1, 2),
    Topic("topic", 3, settings={"retention.ms": "-1"}),
    Vhost("vhost"),
    Watch("drill-run-case", "127.0.0.1:9899", "/metrics", "KafkaUnderMinIsr", "up == 0", "/folder", "2s", "10s"),
]


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Target:
    World.make(tmp_path, monkeypatch)
    return target_file.find(TARGET)


@pytest.mark.parametrize("change", EACH, ids=lambda change: change.kind())
def test_a_change_is_rebuilt_from_its_row(change: Change) -> None:
    assert change == rebuilt(change.kind(), change.arguments())


def test_every_kind_there_is_is_rebuilt() -> None:
    assert sorted(kinds()) == sorted(change.kind() for change in EACH)


def test_a_kind_of_another_version_is_named() -> None:
    with pytest.raises(LookupError, match="this version has no change of kind 'flood'; it has disk_limit, file, "):
        rebuilt("flood", {})


def test_what_nodes_are_taken_is_known_before() -> None:
    taken = {change.kind(): sorted(change.members()) for change in EACH if change.members()}
    assert {kind: ["rabbitmq-1"] for kind in ("kill_node", "pause_node", "stop_node")} == taken


def test_a_file_is_put_back_as_it_was(target: Target, tmp_path: Path) -> None:
    path = tmp_path / "setting"
    for before in (None, "old"):
        change = File(str(path), "new").prepared(target)
        assert before == change.before
        change.undo(target)  # before it was made
        assert change.undone(target) is None
        change.make(target)
        assert {"path": str(path), "bytes": 3} == change.bite(target)
        assert f"{path} is not as it was before the run" == change.undone(target)
        change.undo(target)
        change.undo(target)
        assert change.undone(target) is None
        path.write_text("old")


def test_what_somebody_else_wrote_meanwhile_stays_and_is_told(target: Target, tmp_path: Path) -> None:
    path = tmp_path / "setting"
    change = File(str(path), "new").prepared(target)
    change.make(target)
    path.write_text("theirs")
    change.undo(target)
    assert "theirs" == path.read_text()
    assert change.undone(target) is not None


def guarded(**kafka: str) -> Any:
    """A target of which only the administrator's passwords matter."""
    addresses = RabbitAddresses([], "admin", "root's own")
    return SimpleNamespace(name="t", rabbitmq=addresses, kafka=KafkaAddresses("", kafka))


def test_the_password_of_an_account_is_computed_and_in_no_record() -> None:
    target = guarded()
    first, second = (password(target, "rabbitmq", "user", generation) for generation in (1, 2))
    assert (64, True) == (len(first), first == password(target, "rabbitmq", "user", 1))
    assert 4 == len({first, second, password(target, "rabbitmq", "other", 1), target.rabbitmq.password})
    for change in (RabbitmqUser("user", "vhost", "", "", ""), KafkaUser("user", []), Rotation("rabbitmq", "user")):
        assert first not in repr(change) + repr(change.arguments()) + change.says()


def test_where_nobody_logs_in_an_account_has_no_password() -> None:
    assert password(guarded(**{"sasl.password": "root's own"}), "kafka", "user", 1)
    target = guarded(**{"security.protocol": "PLAINTEXT"})
    with pytest.raises(TargetError, match="its kafka asks for no password"):
        password(target, "kafka", "user", 1)


def java_place(text: str, places: int) -> int:
    """`HashMap.hash(text) & (places - 1)`, after `String.hashCode` as its documentation has it: s[0]*31^(n-1) + …"""
    code = java_code(text)
    return (code ^ (code >> 16)) % places


def test_an_account_of_kafka_comes_last_in_every_table_of_its_size() -> None:
    assert 99162322 == java_code("hello")  # as Java says
    for stem in ("drill-incident-20261201-123456-00000006-access-kafka-app", "a"):
        name = harmless(stem)
        assert name.startswith(f"{stem}-")
        for places in (16, 32, 64, 1024):
            assert places - 1 == java_place(name, places)
    assert 1024 == TABLE


def java_code(text: str) -> int:
    return sum(ord(letter) * 31 ** (len(text) - 1 - at) for at, letter in enumerate(text)) % 2**32
