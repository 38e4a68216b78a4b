"""The command line, as far as it needs no broker."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from drills.cli import main
from drills.lab import install
from drills.lab.errors import LabError, RefusedError
from drills.lab.instance import Lab, lab_names, take_down
from drills.lab.places import lab_folder
from drills.lab.ports import allocate
from drills.lab.report import Lines, Live, Report
from drills.lab.tmpfs import mounts_under
from drills.lab.waiting import LabTimeoutError, wait_all


def test_help_teaches_the_first_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert 0 == ended.value.code
    assert "mq-drill lab up demo" in capsys.readouterr().out


@pytest.mark.parametrize(
    "line",
    ["", "lab", "lab up", "lab up a --only kafka,nats", "lab up a --tmpfs kafka-1", "lab disk-limit a rabbitmq-1 much"],
)
def test_wrong_usage_exits_with_2(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(line.split())
    assert 2 == ended.value.code
    assert "usage: mq-drill" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("lab status nowhere", "there is no lab 'nowhere' (labs: none); make it with `mq-drill lab up nowhere`"),
        ("lab kill nowhere kafka-1", "there is no lab 'nowhere'"),
        ("lab up Demo", "'Demo' can't be a lab's name"),
        ("lab down", "down needs the names of labs, or --all"),
        ("lab up a --tmpfs zookeeper-1=40m", "not under 'zookeeper-1'"),
        ("lab up a --tmpfs kafka-1=huge", "'huge' is not the size of a tmpfs"),
        ("lab up a --only prometheus --tmpfs kafka-1=40m", "no node of these systems, not under 'kafka-1'"),
    ],
)
def test_what_can_not_be_done_exits_with_1_and_says_why(
    line: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert 1 == main(line.split())
    assert said in capsys.readouterr().err


def test_a_tmpfs_without_root_is_refused_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(RefusedError, match="a tmpfs needs the right to mount: run as root"):
        Lab.up("a", ["kafka"], tmpfs={"kafka-1": "40m"})


def test_packages_without_any_right_are_an_error_that_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr("shutil.which", lambda name, **_: "/usr/bin/apt-get" if name == "apt-get" else None)
    with pytest.raises(LabError, match="As root run: apt-get install -y --no-install-recommends rabbitmq-server"):
        install.packages(["rabbitmq-server"], Report())


def test_only_what_is_needed_and_not_there_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name, **_: None if name in ("java", "prometheus", "promtool") else name)
    assert ["openjdk-17-jre-headless"] == install.missing({"kafka", "rabbitmq"})
    assert ["openjdk-17-jre-headless", "prometheus"] == install.missing({"kafka", "prometheus"})


def test_a_folder_that_was_not_made_for_a_lab_is_never_removed(own_places: Path) -> None:
    foreign = own_places / "labs" / "precious"
    foreign.mkdir(parents=True)
    (foreign / "file").write_text("x")
    assert [] == lab_names()
    with pytest.raises(RefusedError, match="was not made for a lab"):
        take_down("precious")
    assert "x" == (foreign / "file").read_text()


def test_a_half_made_lab_is_listed_and_taken_down() -> None:
    allocate(lab_folder("half"))
    assert ["half"] == lab_names()
    assert take_down("half")
    assert [] == lab_names()
    assert not lab_folder("half").parent.joinpath(".locks").exists()


def test_what_is_not_there_is_taken_down_without_a_word() -> None:
    assert not take_down("nothing")


def test_a_wait_ends_with_what_was_last_seen() -> None:
    with pytest.raises(LabTimeoutError) as late:
        wait_all({"a serves": lambda: None, "b serves": lambda: "does not answer yet"}, 0)
    assert "not true within 0 s: b serves (seen: does not answer yet)" == str(late.value)


def test_a_pipe_gets_a_line_for_each_thing_that_became_true() -> None:
    out = io.StringIO()
    wait_all({"a serves": lambda: None, "b serves": lambda: None}, 1, Lines(out))
    assert ["a serves", "b serves"] == [line.split("s  ")[1] for line in out.getvalue().splitlines()]


def test_a_terminal_has_one_line_that_is_rewritten() -> None:
    out = io.StringIO()
    Live(out).waiting({"a serves": "does not answer yet"}, 9.4)
    Live(out).waiting({"a serves": "x", "b serves": "y"}, 8.6)
    first, second = (line.split("s  ")[1] for line in out.getvalue().split("\r\x1b[K")[1:])
    assert ("waiting until a serves: does not answer yet (9 s left)", "waiting for a, b (9 s left)") == (first, second)


def test_proc_is_a_mount_of_its_own() -> None:
    assert Path("/proc") in mounts_under(Path("/"))
