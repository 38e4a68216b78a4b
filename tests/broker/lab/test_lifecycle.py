"""Labs come and go whole, whatever happens to those who make them."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from typing import IO

import pytest

from drills.lab import Lab, LabError, RefusedError, Settings, lab_names, take_down
from drills.lab.places import lab_folder
from drills.lab.processes import marked
from tests.broker.lab.conftest import NOTHING, traces

MONITORS = ["prometheus", "alertmanager"]
Name = Callable[[str], str]


def driver(*arguments: str) -> subprocess.Popen[str]:
    """`mq-drill lab ...` as a process of its own; its progress is on its stderr."""
    return subprocess.Popen([sys.executable, "-m", "drills", "lab", *arguments], stderr=subprocess.PIPE, text=True)


def read_until(stream: IO[str] | None, text: str) -> None:
    assert stream is not None
    lines = []
    for line in stream:
        lines.append(line)
        if text in line:
            return
    pytest.fail(f"never said {text!r}: {lines}")


@pytest.mark.parametrize(
    ("system", "moment"), [("kafka", "kafka-controller-2 started"), ("rabbitmq", "rabbitmq-1 started")]
)
def test_a_driver_killed_during_up_leaves_a_lab_that_up_completes_and_down_clears(
    other_name: Name, system: str, moment: str
) -> None:
    name = other_name(system)
    with driver("up", name, "--only", system) as first:
        read_until(first.stderr, moment)
        first.kill()
    assert [] != list(marked(lab_folder(name)))
    lab = Lab.up(name, [system])
    assert {"serving"} == {status.condition for status in lab.status()}
    lab.down()
    assert NOTHING == traces(lab.folder, lab.ports.base)


def test_down_clears_what_a_killed_driver_left(other_name: Name) -> None:
    name = other_name("left")
    with driver("up", name, "--only", "rabbitmq,kafka") as first:
        read_until(first.stderr, "rabbitmq-3 started")
        first.kill()
    base = Lab.open(name).ports.base
    assert take_down(name)
    assert NOTHING == traces(lab_folder(name), base)


def test_two_ups_of_one_name_at_once_make_one_lab(other_name: Name) -> None:
    name = other_name("twice")
    drivers = [driver("up", name, "--only", "prometheus,alertmanager") for _ in range(2)]
    said = [one.communicate(timeout=60)[1] for one in drivers]
    assert [0, 0] == [one.returncode for one in drivers], said
    assert 1 == "".join(said).count("prometheus started")


def test_two_labs_at_once_share_nothing_and_one_goes_without_the_other(other_name: Name) -> None:
    names = [other_name("left"), other_name("right")]
    drivers = [driver("up", name, "--only", "rabbitmq") for name in names]
    said = [one.communicate(timeout=300)[1] for one in drivers]
    assert [0, 0] == [one.returncode for one in drivers], said
    left, right = (Lab.open(name) for name in names)
    assert 100 <= abs(left.ports.base - right.ports.base)
    left.down()
    assert NOTHING == traces(left.folder, left.ports.base)
    assert {"serving"} == {status.condition for status in right.status()}
    assert 3 == len(right.rabbit_node("rabbitmq-1").members())


def test_systems_are_added_to_a_lab_that_runs(other_name: Name) -> None:
    name = other_name("more")
    first = Lab.up(name, ["prometheus"])
    both = Lab.up(name, ["alertmanager"])
    assert ("prometheus", "alertmanager") == both.record.systems
    assert first.ports == both.ports
    assert ["serving", "serving"] == [status.condition for status in both.status()]


def test_a_lab_whose_record_is_lost_is_cleared_and_made_anew(other_name: Name) -> None:
    name = other_name("lost")
    first = Lab.up(name, ["prometheus"])
    old = first.node("prometheus").process()
    (first.folder / "lab.json").write_text("{")
    again = Lab.up(name, ["prometheus"])
    assert old is not None
    assert not old.alive()
    assert ["serving"] == [status.condition for status in again.status()]


def test_other_settings_than_the_lab_was_made_with_are_refused(other_name: Name) -> None:
    name = other_name("settings")
    Lab.up(name, ["prometheus"])
    with pytest.raises(RefusedError, match="exists with other settings"):
        Lab.up(name, ["prometheus"], settings=Settings(net_ticktime=8))


def test_a_port_that_somebody_else_took_is_named(other_name: Name) -> None:
    lab = Lab.up(other_name("port"), MONITORS)
    lab.node("prometheus").stop()
    said = rf"prometheus: port {lab.ports.prometheus} .* is used by something else"
    with socket.create_server(("127.0.0.1", lab.ports.prometheus)), pytest.raises(LabError, match=said):
        lab.node("prometheus").start()
    lab.node("prometheus").start()


def test_a_node_that_can_not_start_shows_the_end_of_its_log(other_name: Name) -> None:
    lab = Lab.up(other_name("log"), ["prometheus"])
    lab.node("prometheus").stop()
    (lab.folder / "prometheus" / "prometheus.yml").write_text("nonsense: [")
    with pytest.raises(LabError, match=r"prometheus ended while starting\n--- end of (?s:.*)Error loading config"):
        lab.node("prometheus").start()


def test_data_outlives_a_stop_of_the_whole_lab(other_name: Name) -> None:
    name = other_name("stop")
    lab = Lab.up(name, ["kafka"])
    lab.stop()
    assert {"gone"} == {status.condition for status in lab.status()}
    cluster = (lab.folder / "kafka-1" / "data" / "meta.properties").read_text()
    again = Lab.up(name, ["kafka"])
    assert {"serving"} == {status.condition for status in again.status()}
    assert cluster == (lab.folder / "kafka-1" / "data" / "meta.properties").read_text()


def test_the_commands_tell_what_runs_and_where(other_name: Name, capfd: pytest.CaptureFixture[str]) -> None:
    from drills.cli import main

    lab = Lab.up(other_name("told"), MONITORS)
    assert 0 == main(["lab", "status", lab.name])
    assert f"prometheus={lab.ports.prometheus}" in capfd.readouterr().out
    assert 0 == main(["lab", "kill", lab.name, "alertmanager"])
    assert "alertmanager: gone\n" == capfd.readouterr().out
    assert 1 == main(["lab", "status", lab.name])
    capfd.readouterr()
    assert 0 == main(["lab", "env", lab.name, "--json"])
    assert {
        "lab": lab.name,
        "folder": str(lab.folder),
        "prometheus": f"http://127.0.0.1:{lab.ports.prometheus}",
        "alertmanager": f"http://127.0.0.1:{lab.ports.alertmanager}",
    } == json.loads(capfd.readouterr().out)
    assert lab.name in lab_names()
    assert 0 == main(["lab", "down", lab.name])
    assert lab.name not in lab_names()


def test_prometheus_scrapes_a_job_that_is_added_while_it_runs(other_name: Name) -> None:
    from drills.lab.waiting import wait_for

    lab = Lab.up(other_name("scrape"), MONITORS)
    lab.prometheus.scrape("itself", [f"127.0.0.1:{lab.ports.prometheus}"])
    lab.prometheus.scrape("alertmanager", [f"127.0.0.1:{lab.ports.alertmanager}"], interval="1s")

    def lack() -> str | None:
        seen = {one["metric"]["job"]: one["value"][1] for one in lab.prometheus.query("up")}
        return None if seen == {"itself": "1", "alertmanager": "1"} else str(seen)

    wait_for("both jobs are up", lack, 20)


def test_a_configuration_that_prometheus_refuses_is_told_and_the_old_one_stays(other_name: Name) -> None:
    lab = Lab.up(other_name("refused"), MONITORS)
    before = lab.prometheus.configuration()
    with pytest.raises(LabError, match="prometheus refused its configuration"):
        lab.prometheus.scrape("bad", ["127.0.0.1:1"], interval="soon")
    assert before == lab.prometheus.configuration()


def test_interrupted_by_a_person_up_ends_and_leaves_a_lab_that_down_clears(other_name: Name) -> None:
    name = other_name("interrupt")
    with driver("up", name, "--only", "rabbitmq") as first:
        read_until(first.stderr, "rabbitmq-3 started")
        first.send_signal(signal.SIGINT)
        said = first.communicate(timeout=30)[1]
    assert 130 == first.returncode
    assert "`mq-drill lab down NAME`" in said
    assert "Traceback" not in said
    base = Lab.open(name).ports.base
    assert take_down(name)
    assert NOTHING == traces(lab_folder(name), base)
