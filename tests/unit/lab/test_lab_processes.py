"""Processes are told apart by pid and start time, and found by their marks."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from drills.lab.errors import LabError
from drills.lab.processes import LAB_MARK, NODE_MARK, Process, marked, process_of, spawn, tail
from drills.lab.waiting import wait_for


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[Process]:
    environment = {"PATH": os.environ["PATH"], LAB_MARK: str(tmp_path), NODE_MARK: "sleeper"}
    process = spawn(["sleep", "600"], environment=environment, cwd=tmp_path, log=tmp_path / "log")
    wait_for("it is sleep", lambda: None if [p.command for p in marked(tmp_path)] == ["sleep"] else "not yet", 5)
    yield process
    process.send(signal.SIGKILL)
    wait_for("it has ended", lambda: "runs" if process.alive() else None, 5)


def test_a_spawned_process_is_found_by_its_marks_and_only_in_its_own_lab(sleeper: Process, tmp_path: Path) -> None:
    assert [(sleeper, "sleeper", "sleep")] == [(one.process, one.node, one.command) for one in marked(tmp_path)]
    assert [] == list(marked(tmp_path / "other")) == list(marked(tmp_path.parent))


def test_a_spawned_process_is_in_a_session_of_its_own_and_not_our_child(sleeper: Process) -> None:
    fields = Path(f"/proc/{sleeper.pid}/stat").read_text().rpartition(")")[2].split()
    parent, session = int(fields[1]), int(fields[3])
    assert os.getpid() != parent
    assert os.getsid(0) != session


def test_a_stopped_process_is_in_state_t_and_alive(sleeper: Process) -> None:
    assert sleeper.send(signal.SIGSTOP)
    wait_for("it is stopped", lambda: None if sleeper.state() == "T" else f"state {sleeper.state()}", 5)
    assert sleeper.alive()
    assert sleeper.send(signal.SIGCONT)
    wait_for("it sleeps", lambda: None if sleeper.state() == "S" else f"state {sleeper.state()}", 5)


def test_a_signal_never_reaches_another_process_with_the_same_pid(sleeper: Process) -> None:
    assert not Process(sleeper.pid, sleeper.started + 1).send(signal.SIGKILL)
    assert sleeper.alive()


def test_a_zombie_has_ended() -> None:
    child = subprocess.Popen(["true"])
    deadline = time.monotonic() + 5
    while Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < deadline
    assert process_of(child.pid) is None
    child.wait()


def test_a_pid_without_a_process_is_none() -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    assert process_of(child.pid) is None


def test_a_program_that_is_not_there_is_an_error_with_its_words(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"]}
    with contextlib.suppress(LabError):  # raised when it had ended before we looked
        process = spawn(["/no/such/program"], environment=environment, cwd=tmp_path, log=tmp_path / "log")
        wait_for("it has ended", lambda: "runs" if process.alive() else None, 5)
    assert "/no/such/program: not found" in tail(tmp_path / "log", 5)


def test_the_tail_of_a_log_is_its_last_lines(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("a\nb\nc\n")
    assert "b\nc" == tail(tmp_path / "log", 2)
    assert f"(no log at {tmp_path / 'none'})" == tail(tmp_path / "none", 2)
