"""Locks between processes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from drills.lab.errors import RefusedError
from drills.lab.locks import hold

HOLD = """
import sys
from pathlib import Path
from drills.lab.locks import hold
with hold(Path(sys.argv[1]), "up demo"):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def other(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock until its input ends."""
    command = [sys.executable, "-c", HOLD, str(tmp_path / "lock")]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout is not None
        assert "held\n" == process.stdout.readline()
        yield process
        process.kill()


def test_who_waits_in_vain_is_told_who_holds_the_lock(other: subprocess.Popen[str], tmp_path: Path) -> None:
    holder = rf"down demo: another process .*{other.pid} up demo"
    with pytest.raises(RefusedError, match=holder), hold(tmp_path / "lock", "down demo", seconds=0.2):
        pass


def test_a_killed_holder_holds_no_more(other: subprocess.Popen[str], tmp_path: Path) -> None:
    other.kill()
    with hold(tmp_path / "lock", "down demo", seconds=5):
        pass


def test_who_waits_gets_the_new_lock_when_the_holder_removes_the_file(tmp_path: Path) -> None:
    with hold(tmp_path / "lock", "down demo"):
        (tmp_path / "lock").unlink()
        with hold(tmp_path / "lock", "up demo", seconds=1):
            assert (tmp_path / "lock").exists()


def test_shared_holders_do_not_exclude_each_other_but_do_exclude_a_lone_one(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with hold(lock, "one", shared=True), hold(lock, "two", shared=True, seconds=0), pytest.raises(RefusedError):  # noqa: SIM117
        with hold(lock, "alone", seconds=0):
            pass
