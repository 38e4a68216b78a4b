"""What a run promises on real servers: nodes come back, a quorum is not taken, stop conditions stop, silences end."""

from __future__ import annotations

import json
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import requests
from sqlalchemy.exc import OperationalError

from drills.engine import guards
from drills.engine.errors import Refused
from drills.faults.change import Change
from drills.faults.disk_limit import DiskLimit
from drills.faults.kill_node import KillNode
from drills.faults.pause_node import PauseNode
from drills.faults.silence import Silence
from drills.faults.vhost import Vhost
from drills.lab import Lab
from drills.lab.waiting import wait_for
from drills.ledger import tables
from drills.model.verdict import Exit
from drills.targets import file as target_file
from drills.targets.rabbitmq_api import Management
from tests import postgresql
from tests.broker.conftest import session_lab
from tests.tiny.catalog.node import OneNode
from tests.tiny.world import SECONDS, TARGET, World

NODE = "rabbitmq-3"
RUN = ("run", "tiny", "--target", TARGET, "--yes", TARGET)
TOO_MUCH = 10**15  # bytes: no disk has so much free


@pytest.fixture
def lab(rabbitmq_lab: Lab) -> Lab:
    """A lab whose nodes serve."""
    return Lab.up(rabbitmq_lab.name, ("rabbitmq",))


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lab: Lab) -> World:
    return World.on(tmp_path, monkeypatch, "node", lab.name)


def test_a_node_that_a_killed_run_stopped_comes_back_when_it_can(world: World, lab: Lab) -> None:
    world.kill_run("one-node:inject")
    assert "gone" == lab.node(NODE).condition()
    with socket.create_server(("127.0.0.1", lab.ports.amqp(3))):  # so it can't start
        assert Exit.ROLLBACK_FAILED == world.call("recover", world.name)
        errors = {row["kind"]: row["undo_error"] for row in world.ledger().rows(tables.changes)}
        assert "is used by something else" in errors["stop_node"]
        assert "gone" == lab.node(NODE).condition()
    assert Exit.PASS == world.call("recover", world.name)
    assert "serving" == lab.node(NODE).condition()
    assert [] == world.ledger().standing_changes()
    assert [] == drill_vhosts(lab)
    assert Exit.ABORTED == world.call("analyze", world.name)


def test_a_second_member_of_a_quorum_is_not_taken(world: World, lab: Lab) -> None:
    code, out = world.run("run", "node", "--target", lab.name, "--yes", lab.name, second=True)
    assert Exit.REFUSED == code, out
    assert "`stop rabbitmq-2` would leave rabbitmq-2, rabbitmq-3 gone at once" in out
    assert ["serving"] * 3 == [lab.node(f"rabbitmq-{number}").condition() for number in (1, 2, 3)]
    assert [] == drill_vhosts(lab)
    (change,) = [row for row in world.ledger().rows(tables.changes) if row["is_fault"]]
    assert NODE == change["bite"]["node"]
    assert ["exporter"] == [row["name"] for row in world.ledger().rows(tables.workers)]
    assert [] == world.living()
    folder = world.root / "runs" / world.name
    assert (folder / "metrics.csv").stat().st_size > 0
    (told,) = [json.loads(path.read_text()) for path in (folder / "topology").iterdir()]
    assert [("work", "quorum")] == [(queue["name"], queue["arguments"]["x-queue-type"]) for queue in told["queues"]]


FAULTS: dict[str, Callable[[], Change]] = {
    "kill": lambda: KillNode(NODE),
    "pause": lambda: PauseNode(NODE),
    "disk limit": lambda: DiskLimit(NODE, TOO_MUCH),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_proven_by_the_node_and_undone_twice(lab: Lab, fault: str) -> None:
    target = target_file.find(lab.name)
    change = FAULTS[fault]().prepared(target)
    assert change.bite(target) is None
    change.make(target)
    wait_for("it bit", lambda: None if change.bite(target) else "no proof", 30)
    assert change.undone(target) is not None
    change.undo(target)
    wait_for("it is undone", lambda: change.undone(target), 60)
    change.undo(target)
    assert change.undone(target) is None


def test_a_virtual_host_of_somebody_else_stays(lab: Lab) -> None:
    target = target_file.find(lab.name)
    Management(target.rabbitmq).put("vhosts/theirs", {"description": "theirs"})
    try:
        with pytest.raises(FileExistsError, match="'theirs' exists already"):
            Vhost("theirs").prepared(target)
        Vhost("theirs").undo(target)
        assert Management(target.rabbitmq).get("vhosts/theirs") is not None
    finally:
        Management(target.rabbitmq).delete("vhosts/theirs")


def test_a_node_that_queues_need_is_not_taken(lab: Lab) -> None:
    """RabbitMQ itself says so: one member of a queue of two is enough for the majority to go."""
    target = target_file.find(lab.name)
    api = Management(target.rabbitmq)
    vhost = Vhost("drill-critical")
    vhost.make(target)
    try:
        body = {"durable": True, "arguments": {"x-queue-type": "quorum", "x-quorum-initial-group-size": 2}}
        api.put("queues/drill-critical/two", body)
        (member, *_) = [node.name for node in target.rabbitmq.nodes if is_critical(lab, node.name)]
        with pytest.raises(Refused, match="would take a majority from queues"):
            guards.check_quorum(target, OneNode(), KillNode(member))
    finally:
        vhost.undo(target)


def is_critical(lab: Lab, node: str) -> bool:
    target = target_file.find(lab.name)
    return Management(target.rabbitmq, (node,)).check(guards.CRITICAL) is not None


def drill_vhosts(lab: Lab) -> list[str]:
    found = Management(target_file.find(lab.name).rabbitmq).get("vhosts") or []
    return [vhost["name"] for vhost in found if vhost["name"].startswith("drill-")]


def test_a_ledger_that_is_gone_in_the_middle_ends_the_run_which_is_rolled_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World.make(tmp_path, monkeypatch)
    with postgresql.running() as server:
        child = world.begin_run("setting:inject", "--ledger", server.fresh("ledger"))
    (world.files / "go").touch()
    out, _ = child.communicate(timeout=SECONDS)
    assert Exit.ABORTED == child.returncode, out
    assert "ABORTED: the run's record can't be written: " in out
    assert {"setting-setting": "whole"} == world.contents()
    kept = [path for path in (world.root / "runs").rglob("*") if path.is_file()]
    assert [] == [path for path in kept if postgresql.PASSWORD in path.read_text(errors="replace")]
    assert postgresql.PASSWORD not in out


def test_a_run_with_both_databases_in_postgresql_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, postgresql_url: str
) -> None:
    world = World.make(tmp_path, monkeypatch)
    code, out = world.run(*RUN, "--ledger", postgresql_url, "--business", postgresql_url)
    assert Exit.PASS == code, out
    with pytest.raises(OperationalError):  # its password was not kept
        world.ledger().about()
    monkeypatch.setenv("MQOPS_LEDGER", postgresql_url)
    assert "finished" == world.ledger().about()["state"]
    assert Exit.PASS == world.call("analyze", world.name)


# with Prometheus and Alertmanager


@pytest.fixture(scope="module")
def monitors(request: pytest.FixtureRequest) -> Lab:
    return session_lab(request, ("prometheus", "alertmanager"))


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, monitors: Lab) -> World:
    """The tiny drill on a target without brokers, watched by real servers."""
    made = World.make(tmp_path, monkeypatch)
    path = made.root / "labs" / TARGET / target_file.FILE
    urls = {"prometheus_url": monitors.prometheus.url, "alertmanager_url": monitors.alertmanager.url}
    path.write_text(path.read_text() + "".join(f"{key}: {url}\n" for key, url in urls.items()))
    return made


def test_a_stop_condition_that_becomes_true_aborts_the_run_and_rolls_back(watched: World) -> None:
    condition = f"vector(time()) > {time.time() + 4:.0f}"
    code, out = watched.run(*RUN, "--stop-on", condition, hold="setting:inject")
    assert Exit.ABORTED == code, out
    assert f"ABORTED: stop condition {condition!r} is met. Rolled back: " in out
    assert {"setting-setting": "whole"} == watched.contents()


REFUSED = {
    "met": ("vector(1)", "stop condition 'vector(1)' is met already"),
    "no such alert": ("NoSuchAlert", "stop condition 'NoSuchAlert' can't be read"),
    "no expression": ("sum(", "stop condition 'sum(' can't be read"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_stop_condition_that_can_not_stop_is_refused(watched: World, case: str) -> None:
    condition, told = REFUSED[case]
    code, out = watched.run(*RUN, "--stop-on", condition)
    assert Exit.REFUSED == code, out
    assert f"REFUSED: {told}" in out
    assert [] == watched.ledger().rows(tables.changes)


def test_the_runs_own_alerts_are_silenced_until_it_ends(watched: World, monitors: Lab) -> None:
    child = watched.begin_run("setting:inject", "--silence")
    active = silences(monitors)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    assert 3 == len(active)
    assert {f"mq-drill run {watched.name}"} == {one["comment"] for one in active}
    assert {f"drill-{watched.name}.*"} == {one["matchers"][0]["value"] for one in active}
    assert Exit.PASS == watched.call("recover", watched.name)
    assert [] == silences(monitors)


def test_a_silence_is_seen_by_alertmanager(monitors: Lab, watched: World) -> None:
    target = target_file.find(TARGET)
    change = Silence(monitors.alertmanager.url, "a-run", "drill-a-run")
    assert change.bite(target) is None
    change.make(target)
    assert change.bite(target) is not None
    change.undo(target)
    assert change.undone(target) is None


def silences(lab: Lab) -> list[dict[str, object]]:
    answer = requests.get(f"{lab.alertmanager.url}/api/v2/silences", timeout=10)
    return [one for one in answer.json() if one["status"]["state"] != "expired"]
