"""A worker as the driver sees it: a process that is started, told, waited for and killed."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from drills.actors.protocol import Message
from drills.lab.processes import Process, process_of, tail
from drills.ledger import Ledger, clock

GONE = 15.0  # seconds for a killed process to be gone
STOP = 30.0  # seconds for one that was asked to end


class WorkerError(Exception):
    """A worker ended, or was silent, when it should not; says what it printed last."""


class Worker:
    """One worker process. Make it with `start`."""

    def __init__(self, name: str, child: subprocess.Popen[str], ledger: Ledger, log: Path) -> None:
        self.name, self.log = name, log
        self._child, self._ledger = child, ledger
        self._events: list[Message] = []
        self._change = threading.Condition()
        self._ended = False
        self._noted = False
        found = process_of(child.pid)
        if found is None:
            raise WorkerError(f"worker {name} ended at once: {tail(log, 15)}")
        self.process: Process = found

    def begin(self, options: Message) -> None:
        """Gives it its options, and listens to it from now on."""
        threading.Thread(target=self._read, daemon=True, name=f"events of {self.name}").start()
        self._write(options)

    @property
    def alive(self) -> bool:
        """Whether its process, this very one, still runs."""
        return self.process.alive()

    def send(self, command: str, **fields: Any) -> None:
        """Gives it a command. Raises WorkerError when it is gone."""
        self._write({"do": command, **fields})

    def arm(self, hook: str, event_id: str) -> None:
        """Asks it to hold this event at this hook; returns when it has said that it will."""
        self.send("arm", hook=hook, event_id=event_id)
        self.await_event("armed", GONE, hook=hook, event_id=event_id)

    def release(self) -> None:
        """Lets go what it holds."""
        self.send("release")

    def await_event(self, kind: str, seconds: float, **match: Any) -> Message:
        """The next event of this kind with these fields that was not given yet; others stay to be asked for.

        Raises WorkerError after `seconds`, and at once when the worker has ended without saying it.
        """
        wanted = {"event": kind, **match}
        deadline = time.monotonic() + seconds
        with self._change:
            while True:
                for event in self._events:
                    if wanted.items() <= event.items():
                        self._events.remove(event)
                        return event
                left = deadline - time.monotonic()
                if self._ended or left <= 0:
                    why = "ended" if self._ended else f"was silent for {seconds:.0f} s"
                    seen = [event["event"] for event in self._events[-5:]]
                    raise WorkerError(
                        f"worker {self.name} {why} before {wanted}; last events {seen}; {tail(self.log, 15)}"
                    )
                self._change.wait(left)

    def kill(self) -> dict[str, Any]:
        """SIGKILL; returns when its pid and start time are gone, with the proof: pid, started, exit code, gone.

        Can run twice, and after its end.
        """
        self._child.kill()
        return self._end(GONE)

    def stop(self, seconds: float = STOP) -> dict[str, Any]:
        """Lets it finish what it has in hand and end; kills it, and raises WorkerError, when it does not."""
        if self.alive:
            self.send("stop")
        try:
            return self._end(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise WorkerError(f"worker {self.name} did not end within {seconds:.0f} s: {tail(self.log, 15)}") from None

    def _end(self, seconds: float) -> dict[str, Any]:
        code = self._child.wait(seconds)
        if self._child.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._child.stdin.close()
        if not self._noted:
            self._ledger.worker_ended(self.name, code)
            self._noted = True
        gone = not self.process.alive()
        return {"pid": self.process.pid, "started": self.process.started, "exit_code": code, "gone": gone}

    def _write(self, message: Message) -> None:
        assert self._child.stdin is not None
        try:
            self._child.stdin.write(json.dumps(message) + "\n")
            self._child.stdin.flush()
        except (BrokenPipeError, ValueError):
            raise WorkerError(f"worker {self.name} is gone: {tail(self.log, 15)}") from None

    def _read(self) -> None:
        assert self._child.stdout is not None
        for line in self._child.stdout:
            with self._change:
                self._events.append(_event(line))
                self._change.notify_all()
        with self._change:
            self._ended = True
            self._change.notify_all()


def _event(line: str) -> Message:
    """An event of a line; what is none is kept as what was printed, so that an error message shows it."""
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    return found if isinstance(found, dict) and "event" in found else {"event": "printed", "line": line}


def start(module: str, name: str, options: Mapping[str, Any], *, ledger: Ledger, case: str, log: Path) -> Worker:
    """Starts `python -m MODULE`; it is in the ledger before it gets its options, without which it does nothing.

    The names of run, case, worker and the ledger's address are added to the options. `log` gets its stderr.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a") as errors:
        child = subprocess.Popen(
            [sys.executable, "-m", module], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
            text=True, start_new_session=True, cwd=Path(__file__).parents[2], env=_environment(),
        )  # fmt: skip
    worker = Worker(name, child, ledger, log)
    process = worker.process
    role = module.rpartition(".")[2]
    ledger.worker_began(name=name, case=case, role=role, pid=process.pid, started=process.started)
    worker.begin({"run": ledger.run, "case": case, "name": name, "ledger_url": ledger.url, **options})
    return worker


def _environment() -> dict[str, str]:
    """Ours; output comes line by line, and the clock is the driver's."""
    return {**os.environ, "PYTHONUNBUFFERED": "1", clock.VARIABLE: repr(clock.OFFSET)}
