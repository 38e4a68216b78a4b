"""Processes of a run that are no workers, such as its exporter: noted in the ledger, found again by a mark."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from drills.lab.processes import Process, process_of, spawn
from drills.lab.waiting import wait_for
from drills.ledger import Ledger, tables

MARK = "MQOPS_RUN"
END = 15.0  # seconds for a killed process to be gone
ROOT = Path(__file__).parents[2]


def start(ledger: Ledger, case: str, name: str, command: Sequence[str], log: Path) -> Process:
    """Starts a process that carries the run's mark. Raises LabError when it ends at once."""
    environment = {**os.environ, MARK: ledger.run}
    process = spawn(command, environment=environment, cwd=ROOT, log=log)
    ledger.worker_began(name=name, case=case, role=name, pid=process.pid, started=process.started)
    return process


def end_all(ledger: Ledger, case: str | None = None) -> list[str]:
    """Kills what still runs of a run (of one of its cases, when given); the names. Works without its driver."""
    ended = []
    for row in ledger.rows(tables.workers, case):
        process = Process(row["pid"], row["started"])
        if row["ended"] is None:
            if process.send(signal.SIGKILL):
                ended.append(f"{row['name']} (pid {row['pid']})")
            wait_for(f"{row['name']} is gone", partial(_lack, process), END)
            ledger.worker_ended(row["name"], None)
    return ended if case is not None else ended + end_marked(ledger.run)


def end_marked(run: str) -> list[str]:
    """Kills the processes that carry the mark of a run, noted or not; the names."""
    found = list(_marked(run))
    for process in found:
        process.send(signal.SIGKILL)
    for process in found:
        wait_for(f"pid {process.pid} is gone", partial(_lack, process), END)
    return [f"pid {process.pid}" for process in found]


def _marked(run: str) -> Iterator[Process]:
    mark = f"{MARK}={run}".encode()
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):  # ended meanwhile, or another user's
            if entry.name.isdigit() and mark in (entry / "environ").read_bytes().split(b"\0"):
                process = process_of(int(entry.name))
                if process is not None:
                    yield process


def _lack(process: Process) -> str | None:
    return f"pid {process.pid} still runs" if process.alive() else None
