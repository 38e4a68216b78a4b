"""A run as a person sees it who sits at a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from drills.model.verdict import Exit
from tests.tiny.world import ROOT, SECONDS, TARGET, World

QUESTION = "Type its name to go on: "


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return World.make(tmp_path, monkeypatch)


def shown(master: int) -> Iterator[str]:
    """What appears, until the other side is closed."""
    while True:
        try:
            part = os.read(master, 4096)
        except OSError:  # how a terminal of Linux tells that nobody holds its other side
            return
        if not part:
            return
        yield part.decode(errors="replace")


def at_a_terminal(typed: str) -> tuple[int, str]:
    """Exit code and all that appeared of a run whose question is answered."""
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "tests.tiny", "run", "tiny", "--target", TARGET]
    child = subprocess.Popen(command, cwd=ROOT, stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
    os.close(slave)
    out, answered = "", False
    for part in shown(master):
        out += part
        if QUESTION in out and not answered:
            os.write(master, f"{typed}\n".encode())
            answered = True
    os.close(master)
    return child.wait(SECONDS), out


def test_the_name_is_asked_for_and_the_phases_are_live(world: World) -> None:
    code, out = at_a_terminal(TARGET)
    assert Exit.PASS == code, out
    assert "This breaks nothing on purpose. Type its name to go on: " in out
    live = [line for line in out.split("\r\x1b[K") if "setting: inject · 30 s left" in line]
    assert live, out
    assert "criterion 2 PASS" in out
    assert {"setting-setting": "whole"} == world.contents()


def test_another_name_touches_nothing(world: World) -> None:
    code, out = at_a_terminal("production")
    assert Exit.REFUSED == code, out
    assert "refused: 'production' is not 'nothing'; nothing was touched" in out
    assert not (world.root / "runs").exists()
