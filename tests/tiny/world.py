"""A world for the tiny drill: a lab without any node, a folder of files, and the commands run on it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from drills.cli import main
from drills.engine import runs
from drills.lab import record, target_file
from drills.lab.places import make_lab_folder
from drills.lab.processes import process_of
from drills.lab.record import Record
from drills.lab.waiting import wait_for
from drills.ledger import Ledger, tables
from tests.tiny.__main__ import CATALOG
from tests.tiny.orders import HELD

ROOT = Path(__file__).parents[2]
TARGET = "nothing"
SECONDS = 120.0  # a node that comes back takes up to half a minute


@dataclass
class World:
    """`files`: what the drill changes. Its first run's folder is `run_folder`."""

    root: Path
    drill: str = "tiny"
    target: str = TARGET

    @classmethod
    def on(cls, root: Path, patch: pytest.MonkeyPatch, drill: str, target: str) -> World:
        """A world around a lab that there is."""
        world = cls(root, drill, target)
        patch.setenv("MQOPS_RUNS", str(root / "runs"))
        patch.setenv("TINY", json.dumps({"world": str(world.files)}))
        world.files.mkdir()
        return world

    @classmethod
    def make(cls, root: Path, patch: pytest.MonkeyPatch) -> World:
        """A world of its own, with a lab that has no node."""
        world = cls.on(root, patch, "tiny", TARGET)
        patch.setenv("MQOPS_LAB_DIR", str(root / "labs"))
        lab = root / "labs" / TARGET
        make_lab_folder(lab)
        record.save(lab, Record(TARGET, 24000, (), "", ("", "", "")))
        target_file.write(lab, TARGET)
        (world.files / "setting-setting").write_text("whole")
        return world

    @property
    def files(self) -> Path:
        return self.root / "world"

    def contents(self) -> dict[str, str]:
        """What the drill may have changed: name -> text."""
        return {path.name: path.read_text() for path in sorted(self.files.iterdir()) if path.name not in (HELD, "go")}

    def begin(self, *arguments: str, limit: Any = None, **orders: Any) -> subprocess.Popen[str]:
        """`mq-drill ARGUMENTS` in a process of its own. `limit`: called in it before it begins."""
        told = {"world": str(self.files), **orders}
        return subprocess.Popen(
            [sys.executable, "-m", "tests.tiny", *arguments],
            cwd=ROOT,
            env={**os.environ, "TINY": json.dumps(told), "PYTHONWARNINGS": ""},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=limit,
        )

    def run(self, *arguments: str, **orders: Any) -> tuple[int, str]:
        """The exit code and all that a whole command printed."""
        child = self.begin(*arguments, **orders)
        out, _ = child.communicate(timeout=SECONDS)
        return child.returncode, out

    def begin_run(self, hold: str, *options: str, **orders: Any) -> subprocess.Popen[str]:
        """A run that stands at `CASE:PHASE` now."""
        child = self.begin(
            "run", self.drill, "--target", self.target, "--yes", self.target, *options, hold=hold, **orders
        )

        def lack() -> str | None:
            assert child.poll() is None, child.communicate()[0]
            return None if (self.files / HELD).exists() else "not yet"

        wait_for(f"the run stands at {hold}", lack, SECONDS)
        return child

    def kill_run(self, hold: str, **orders: Any) -> None:
        """A run that was ended with SIGKILL at `CASE:PHASE`."""
        child = self.begin_run(hold, **orders)
        child.send_signal(signal.SIGKILL)
        child.communicate()
        (self.files / "held").unlink()

    def call(self, *arguments: str) -> int:
        """The exit code of a command that is run here."""
        return main(arguments, catalog=CATALOG)

    @property
    def name(self) -> str:
        """The run there is."""
        (name,) = runs.names()
        return name

    def ledger(self) -> Ledger:
        """Its ledger."""
        return runs.open_run(self.name)[2]

    def living(self) -> list[str]:
        """The processes of the run that still run."""
        found: Sequence[Any] = self.ledger().rows(tables.workers)
        return [row["name"] for row in found if _started(row["pid"]) == row["started"]]


def _started(pid: int) -> int | None:
    found = process_of(pid)
    return None if found is None else found.started
