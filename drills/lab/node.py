"""One node of a lab: a server that can be started, stopped, killed, frozen and thawed, each proven by its own state."""

from __future__ import annotations

import os
import signal
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from drills.lab import locks, processes
from drills.lab.errors import LabError, LabTimeoutError
from drills.lab.ports import Ports, taken
from drills.lab.processes import LAB_MARK, NODE_MARK, Process
from drills.lab.record import Record, load_process, save_process
from drills.lab.report import Report
from drills.lab.waiting import wait_for

Condition = Literal["gone", "frozen", "starting", "serving"]

START = 180.0  # seconds until a started node must serve
STOP = 60.0  # seconds for a clean end
HELPERS = 3.0  # seconds that helpers get to notice that their node is gone
END = 15.0  # seconds for a killed process and its helpers to be gone


@dataclass(frozen=True, slots=True)
class Site:
    """A lab's folder and record: all that its nodes need to know of it."""

    folder: Path
    record: Record

    @property
    def ports(self) -> Ports:
        """The lab's port block."""
        return self.record.ports

    def environment(self, node: str, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """A clean environment with the marks by which the process is found again."""
        kept = {name: os.environ[name] for name in ("PATH", "JAVA_HOME") if name in os.environ}
        path = kept.get("PATH", "") + ":/usr/sbin:/usr/bin:/sbin:/bin"
        marks = {LAB_MARK: str(self.folder), NODE_MARK: node}
        return {**kept, "PATH": path, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", **marks, **(more or {})}


class Node(ABC):
    """A named server process. `system` is what it belongs to, `program` the name of its main process in /proc."""

    system: str
    program: str
    patience = 75.0  # seconds after which `up` takes a node that runs, and does not serve, for hung and replaces it

    def __init__(self, site: Site, name: str, number: int) -> None:
        self.site = site
        self.name = name
        self.number = number
        self.folder = site.folder / name
        self.log = site.folder / "logs" / f"{name}.log"
        self.peers: Sequence[Node] = ()
        self.report = Report()

    @property
    @abstractmethod
    def listens(self) -> dict[str, int]:
        """What it listens on: purpose -> port."""

    @abstractmethod
    def prepare(self) -> None:
        """Writes configuration and, the first time, data; can run again."""

    @abstractmethod
    def spawn(self) -> Process:
        """Starts the process."""

    @abstractmethod
    def answers(self) -> bool:
        """Whether the server itself answers a request."""

    def lack(self) -> str | None:
        """What is missing until it takes its part in its cluster; None when nothing is."""
        return None if self.answers() else "does not answer yet"

    def needs(self) -> str | None:
        """What must come before it is started together with the others; None when nothing."""
        return None

    def thaw_lack(self) -> str | None:
        """What is missing after a thaw; None when nothing is."""
        return self.lack()

    def logs(self) -> list[Path]:
        """Where it says why it failed, most telling first."""
        return [self.log]

    # what it is now

    def process(self) -> Process | None:
        """Its main process; None when that has ended. Found by its marks when a driver died before it took note."""
        noted = load_process(self._note)
        if noted is not None:
            return noted
        return next((found.process for found in self._marked() if found.command == self.program), None)

    def condition(self) -> Condition:
        """What the node is, from its process and from its own answers."""
        process = self.process()
        state = process.state() if process is not None else None
        if state is None:
            return "gone"
        if state == "T":
            return "frozen"
        return "serving" if self.lack() is None else "starting"

    def running(self) -> bool:
        """Whether its process runs and is not frozen."""
        process = self.process()
        return process is not None and process.state() not in (None, "T")

    def failure(self) -> str:
        """The tail of its logs, for a message."""
        return "\n".join(f"--- end of {log}\n{processes.tail(log, 12)}" for log in self.logs() if log.exists())

    # changes; each returns when the new state is true

    def launch(self) -> bool:
        """Starts its process unless it runs; False when it did. Raises LabError when a port it needs is taken."""
        with locks.hold(self._note.with_suffix(".lock"), f"start {self.name}"):
            if self.process() is not None:
                return False
            self._clear()
            for purpose, port in self.listens.items():
                if taken(port):
                    raise LabError(
                        f"{self.name}: port {port} ({purpose}) is used by something else: end that, or take lab "
                        f"{self.site.record.name!r} down and up again for other ports"
                    )
            self.prepare()
            save_process(self._note, self.spawn())
            return True

    def start(self, seconds: float = START) -> None:
        """Starts it, or thaws it, and returns when it serves."""
        self.launch()
        process = self.process()
        if process is not None and process.state() == "T":
            process.send(signal.SIGCONT)
        self.await_serving(seconds)

    def await_serving(self, seconds: float) -> None:
        """Returns when it serves. Raises LabError with the tail of its log when it ends instead, or is late."""
        try:
            wait_for(f"{self.name} serves", self.lack_while_alive, seconds, self.report)
        except LabTimeoutError as late:
            raise LabTimeoutError(f"{late}\n{self.failure()}") from None

    def lack_while_alive(self) -> str | None:
        """As `lack`, but raises LabError with the tail of its log when its process has ended."""
        if self.process() is None:
            raise LabError(f"{self.name} ended while starting\n{self.failure()}")
        return self.lack()

    def stop(self, seconds: float = STOP) -> None:
        """Asks it to end (SIGTERM); returns when process and ports are gone.

        Raises LabTimeoutError when it does not end: kill it then.
        """
        self._end(signal.SIGTERM, seconds)

    def kill(self) -> None:
        """Ends it with SIGKILL; returns when process and ports are gone."""
        self._end(signal.SIGKILL, END)

    def pause(self) -> None:
        """Freezes it (SIGSTOP): it answers nothing, its connections stay. Returns when the kernel says stopped."""
        process = self._alive("pause")
        process.send(signal.SIGSTOP)
        wait_for(f"{self.name} is frozen", lambda: None if process.state() == "T" else f"state {process.state()}", END)

    def resume(self, seconds: float = START) -> None:
        """Thaws it (SIGCONT); returns when it answers again."""
        process = self._alive("resume")
        process.send(signal.SIGCONT)
        wait_for(f"{self.name} runs", lambda: None if process.state() != "T" else "still stopped", END)
        wait_for(f"{self.name} serves again", self.thaw_lack, seconds, self.report)

    def _alive(self, purpose: str) -> Process:
        process = self.process()
        if process is None:
            raise LabError(
                f"can't {purpose} {self.name}: it is not running "
                f"(start it with `mq-drill lab start {self.site.record.name} {self.name}`)"
            )
        return process

    def _end(self, number: signal.Signals, seconds: float) -> None:
        process = self.process()
        if process is not None:
            process.send(number)
            process.send(signal.SIGCONT)  # a frozen process acts on SIGTERM only when thawed
            still = f"pid {process.pid} still runs"
            wait_for(f"{self.name} has ended", lambda: still if process.alive() else None, seconds, self.report)
        self._clear()
        wait_for(f"the ports of {self.name} are closed", self._open_port, END)

    def _clear(self) -> None:
        """Ends what a gone node left: helpers of the process, a half-started second one."""
        claim = f"no helper of {self.name} is left"
        try:
            wait_for(claim, self._helpers, HELPERS)
        except LabTimeoutError:
            for found in self._marked():
                found.process.send(signal.SIGKILL)
            wait_for(claim, self._helpers, END)
        self._note.unlink(missing_ok=True)

    def _helpers(self) -> str | None:
        return ", ".join(f"{found.command} (pid {found.process.pid})" for found in self._marked()) or None

    def _open_port(self) -> str | None:
        still = [f"{port} ({purpose})" for purpose, port in self.listens.items() if taken(port)]
        return f"ports {', '.join(still)} are still open" if still else None

    def _marked(self) -> list[processes.Marked]:
        found = processes.marked(self.site.folder)
        return [one for one in found if one.node == self.name and one.command != "epmd"]

    @property
    def _note(self) -> Path:
        return self.site.folder / "processes" / f"{self.name}.json"
