"""Processes, told apart by pid and start time, and found again by the marks in their environment."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from drills.lab.errors import LabError

LAB_MARK = "MQOPS_LAB"  # the folder of the lab that a process belongs to
NODE_MARK = "MQOPS_NODE"  # the node of that lab


@dataclass(frozen=True, slots=True)
class Process:
    """One process, for ever: `started` is its start in clock ticks since boot, which a reused pid does not share."""

    pid: int
    started: int

    def state(self) -> str | None:
        """The state letter of /proc (R, S, D, T …); None when the process has ended. A zombie has ended."""
        found = _stat(self.pid)
        if found is None or found[1] != self.started or found[0] in "ZX":
            return None
        return found[0]

    def alive(self) -> bool:
        """Whether it still runs (or is stopped)."""
        return self.state() is not None

    def send(self, number: signal.Signals) -> bool:
        """Sends a signal to this very process, never to a later one with its pid; False when it has ended."""
        try:
            descriptor = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return False
        try:
            if not self.alive():
                return False
            signal.pidfd_send_signal(descriptor, number)
        except ProcessLookupError:
            return False
        finally:
            os.close(descriptor)
        return True

    def resident_bytes(self) -> int | None:
        """Resident memory; None when the process has ended."""
        try:
            pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        except (OSError, IndexError):
            return None
        return pages * os.sysconf("SC_PAGE_SIZE") if self.alive() else None


@dataclass(frozen=True, slots=True)
class Marked:
    """A process of a lab, as found in /proc."""

    process: Process
    node: str
    command: str


def process_of(pid: int) -> Process | None:
    """The process that has this pid now; None when there is none."""
    found = _stat(pid)
    return None if found is None or found[0] in "ZX" else Process(pid, found[1])


def boot_id() -> str:
    """Identifies this boot of the machine: pids and start times of an earlier one mean nothing."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def marked(folder: Path) -> Iterator[Marked]:
    """Every living process that carries the mark of the lab in `folder`: nodes, their helpers, left-over daemons."""
    mark = f"{LAB_MARK}={folder}".encode()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            environment = (entry / "environ").read_bytes().split(b"\0")
            command = (entry / "comm").read_text().strip()
        except OSError:
            continue  # ended meanwhile, or another user's
        process = process_of(int(entry.name)) if mark in environment else None
        if process is not None:
            yield Marked(process, _value(environment, NODE_MARK), command)


def spawn(command: Sequence[str], *, environment: Mapping[str, str], cwd: Path, log: Path) -> Process:
    """Starts a process that lives on without us: its own session, parent init, output appended to `log`.

    A short-lived shell starts it, so that it is never our child and never our zombie.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    script = f"{shlex.join(command)} </dev/null >>{shlex.quote(str(log))} 2>&1 & echo $!"
    started = subprocess.run(
        ["/bin/sh", "-c", script],
        env=dict(environment),
        cwd=cwd,
        start_new_session=True,
        capture_output=True,
        text=True,
        check=False,
    )
    process = process_of(int(started.stdout)) if started.stdout.strip().isdigit() else None
    if process is None:
        raise LabError(f"{command[0]} ended at once, see {log}: {tail(log, 15)}{started.stderr}")
    return process


def tail(log: Path, lines: int) -> str:
    """The last lines of a log; a note when there is none."""
    try:
        return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
    except OSError:
        return f"(no log at {log})"


def _stat(pid: int) -> tuple[str, int] | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return fields[0], int(fields[19])


def _value(environment: list[bytes], name: str) -> str:
    prefix = f"{name}=".encode()
    return next((entry[len(prefix) :].decode() for entry in environment if entry.startswith(prefix)), "")
