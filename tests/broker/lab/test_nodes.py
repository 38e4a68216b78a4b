"""Node operations: each is true, by the node's own state, when it returns."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from drills.lab import Lab, LabError
from drills.lab.ports import taken
from drills.lab.probes import amqp_answers, kafka_answers, kafka_brokers
from drills.lab.processes import Process, process_of
from drills.lab.record import save_process
from tests.broker.conftest import Management
from tests.versions import needs


def pids(lab: Lab) -> dict[str, int | None]:
    """Of all nodes there are: the lab may have got more systems since `lab` was opened."""
    return {status.name: status.pid for status in Lab.open(lab.name).status()}


def conditions(lab: Lab) -> set[str]:
    return {status.condition for status in Lab.open(lab.name).status()}


def test_up_again_changes_nothing(lab: Lab) -> None:
    before = pids(lab)
    again = Lab.up(lab.name, ["kafka", "rabbitmq"])
    assert before == pids(again)
    assert {"serving"} == conditions(again)


@pytest.mark.parametrize("name", ["kafka-1", "kafka-controller-2", "rabbitmq-3"])
def test_a_killed_node_is_gone_and_up_brings_it_back_and_touches_no_other(breakable_lab: Lab, name: str) -> None:
    before = pids(breakable_lab)
    node = breakable_lab.node(name)
    node.kill()
    assert "gone" == node.condition()
    assert process_of(before[name] or 0) is None
    assert [] == [port for port in node.listens.values() if taken(port)]
    after = pids(Lab.up(breakable_lab.name, ["kafka", "rabbitmq"]))
    assert {"serving"} == conditions(breakable_lab)
    assert [name] == [other for other in before if before[other] != after[other]]


@pytest.mark.parametrize("name", ["kafka-2", "rabbitmq-1"])
def test_a_frozen_node_has_open_ports_and_answers_nothing_until_it_is_thawed(breakable_lab: Lab, name: str) -> None:
    node = breakable_lab.node(name)
    port = next(iter(node.listens.values()))
    answers = kafka_answers if name.startswith("kafka") else amqp_answers
    node.pause()
    assert "frozen" == node.condition()
    assert taken(port)
    assert not answers(port)
    node.resume()
    assert "serving" == node.condition()
    assert answers(port)


LOST = """[mnesia:dirty_delete_object(rabbit_listener, L) ||
 L <- mnesia:dirty_read(rabbit_listener, node()), element(3, L) =:= 'http/prometheus'], ok."""


@needs("listeners_in_a_table")
def test_a_node_whose_listener_the_cluster_has_lost_is_restarted(breakable_lab: Lab) -> None:
    node = breakable_lab.node("rabbitmq-2")
    before = node.process()
    node.start()
    assert before == node.process()
    breakable_lab.rabbit_node("rabbitmq-2").evaluate(LOST)
    assert node.listens["metrics"] not in listed(breakable_lab)
    node.start()
    assert before != node.process()
    assert node.listens["metrics"] in listed(breakable_lab)


def listed(lab: Lab) -> set[int]:
    """The ports that the cluster knows."""
    return {one["port"] for one in Management(lab.rabbitmq).get("overview")["listeners"]}


def test_a_frozen_node_is_thawed_by_up(breakable_lab: Lab) -> None:
    before = pids(breakable_lab)
    breakable_lab.node("kafka-3").pause()
    assert before == pids(Lab.up(breakable_lab.name, ["kafka", "rabbitmq"]))
    assert {"serving"} == conditions(breakable_lab)


def test_a_stopped_broker_is_missed_by_the_others_and_seen_again_when_start_returns(breakable_lab: Lab) -> None:
    others = [breakable_lab.ports.broker(1), breakable_lab.ports.broker(3)]
    node = breakable_lab.node("kafka-2")
    node.stop()
    assert [frozenset({1, 3})] * 2 == [kafka_brokers(port) for port in others]
    node.start()
    assert [frozenset({1, 2, 3})] * 2 == [kafka_brokers(port) for port in others]


def test_a_stopped_rabbitmq_node_is_missed_by_the_others_and_seen_again_when_start_returns(breakable_lab: Lab) -> None:
    other, node = breakable_lab.rabbit_node("rabbitmq-1"), breakable_lab.rabbit_node("rabbitmq-2")
    names = breakable_lab.rabbitmq.names
    node.stop()
    assert {names[0]: True, names[1]: False, names[2]: True} == other.members()
    node.start()
    assert dict.fromkeys(names, True) == other.members()


def test_a_broker_starts_while_another_is_frozen(breakable_lab: Lab) -> None:
    node, frozen = breakable_lab.node("kafka-3"), breakable_lab.node("kafka-1")
    node.kill()
    frozen.pause()
    node.start()
    assert ("serving", "frozen") == (node.condition(), frozen.condition())
    frozen.resume()
    assert {"serving"} == conditions(breakable_lab)


def test_stopping_a_frozen_node_ends_it(breakable_lab: Lab) -> None:
    node = breakable_lab.node("kafka-3")
    node.pause()
    node.stop()
    assert "gone" == node.condition()


def test_a_node_that_does_not_run_can_not_be_frozen(breakable_lab: Lab) -> None:
    node = breakable_lab.node("kafka-1")
    node.kill()
    with pytest.raises(LabError, match=r"can't pause kafka-1: it is not running \(start it with"):
        node.pause()


def test_an_unknown_node_is_an_error_that_names_those_there_are(lab: Lab) -> None:
    with pytest.raises(LabError, match=r"has no node 'kafka-4'; it has rabbitmq-1, .*kafka-3"):
        lab.node("kafka-4")


def test_a_note_of_a_foreign_process_is_not_believed(lab: Lab) -> None:
    before = pids(lab)
    me = process_of(os.getpid())
    assert me is not None
    note = lab.folder / "processes" / "kafka-1.json"
    save_process(note, Process(me.pid, me.started - 1))
    assert before == pids(lab)
    note.unlink()
    assert before == pids(Lab.up(lab.name, ["kafka"]))


def test_the_disk_limit_is_raised_to_an_alarm_and_restored(breakable_lab: Lab) -> None:
    node, other = breakable_lab.rabbit_node("rabbitmq-2"), breakable_lab.rabbit_node("rabbitmq-1")
    alarm = f"{{{{resource_limit,disk,'{node.erlang_name}'}},[]}}"
    before = node.disk_limit()
    node.set_disk_limit(10**15)
    assert 10**15 == node.disk_limit()
    assert alarm in other.evaluate("rabbit_alarm:get_alarms().")
    node.restore_disk_limit()
    assert before == node.disk_limit()
    assert "[]" == other.evaluate("rabbit_alarm:get_alarms().")


def test_everything_listens_on_loopback_alone(lab: Lab) -> None:
    ports = {port for status in lab.status() for port in status.listens.values()} | {lab.ports.epmd}
    addresses: dict[int, set[str]] = {}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            address, port = line.split()[1].split(":")
            if line.split()[3] == "0A" and int(port, 16) in ports:
                addresses.setdefault(int(port, 16), set()).add(address)
    loopback = {"0100007F", "0" * 24 + "01000000", "0" * 16 + "FFFF00000100007F"}
    assert ports == set(addresses)
    assert {} == {port: found - loopback for port, found in addresses.items() if found - loopback}
