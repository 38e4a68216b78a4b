"""What a person sees of a run: plain lines in a pipe; on a terminal also one live line that is rewritten."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Mapping
from types import TracebackType
from typing import TextIO

from drills.lab.report import Report

TICK = 1.0  # seconds between two drawings of the live line
QUIET = 10.0  # seconds between two lines about the same wait in a pipe


class Screen:
    """Lasting lines, and on a terminal the phase, the time left to its deadline, the wait and the live values."""

    def __init__(self, out: TextIO | None = None) -> None:
        self.out = out or sys.stdout
        self.is_terminal = self.out.isatty()
        self.begun = time.monotonic()
        self._lock = threading.RLock()  # a signal's message may come while a line is being written
        self._ended = threading.Event()
        self._phase = ""
        self._deadline: float | None = None
        self._wait: tuple[str, float] | None = None  # what is waited for, and until when
        self._values: Mapping[str, object] = {}
        self._last_wait = time.monotonic()
        self._ticker = threading.Thread(target=self._tick, daemon=True, name="screen")

    def __enter__(self) -> Screen:
        if self.is_terminal:
            self._ticker.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._ended.set()
        with self._lock:
            self._clear()

    def line(self, text: str) -> None:
        """A line that stays, with the seconds since the beginning."""
        with self._lock:
            self._clear()
            self._write(f"{time.monotonic() - self.begun:7.1f} s  {text}\n")
            self._draw()

    def loud(self, text: str) -> None:
        """A line that nobody overlooks: a rollback that failed."""
        bar = "!" * 78
        with self._lock:
            self._clear()
            self._write(f"\n{bar}\n{text}\n{bar}\n\n")

    def phase(self, case: str, phase: str, seconds: float | None) -> None:
        """A phase begins; its deadline is so many seconds away."""
        self._phase = f"{case}: {phase}" if case else phase
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._wait = None
        self.line(self._phase)

    def live(self, values: Mapping[str, object]) -> None:
        """Values for the live line."""
        self._values = values

    def waiting(self, missing: Mapping[str, str], left: float) -> None:
        """What is waited for (claim -> what is missing), and the seconds left."""
        self._wait = ("; ".join(f"{claim}: {lacks}" for claim, lacks in missing.items()), time.monotonic() + left)
        if not self.is_terminal and time.monotonic() - self._last_wait >= QUIET:
            self._last_wait = time.monotonic()
            self.line(f"waiting until {self._wait[0]} ({left:.0f} s left)")

    def done_waiting(self) -> None:
        """What was waited for is true."""
        self._wait = None
        self._last_wait = time.monotonic()

    def report(self) -> Report:
        """The screen for what the lab waits for."""
        return _Waits(self)

    def _tick(self) -> None:
        while not self._ended.wait(TICK):
            with self._lock:
                self._draw()

    def _draw(self) -> None:
        if not self.is_terminal or self._ended.is_set():
            return
        now = time.monotonic()
        parts = [self._phase]
        if self._deadline is not None:
            parts.append(f"{max(0.0, self._deadline - now):.0f} s left")
        parts += [f"{name}={value}" for name, value in self._values.items()]
        if self._wait is not None:
            parts.append(f"{self._wait[0]} ({max(0.0, self._wait[1] - now):.0f} s)")
        width = shutil.get_terminal_size().columns
        self._write("\r\x1b[K" + f"{now - self.begun:7.1f} s  {' · '.join(parts)}"[: width - 1])

    def _clear(self) -> None:
        if self.is_terminal:
            self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        try:
            self.out.write(text)
            self.out.flush()
        except (OSError, RuntimeError):  # the latter: a signal came while a write of ours was blocked
            return  # the terminal or the reader of the pipe is gone; the rollback must not end for it


class _Waits(Report):
    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def waiting(self, missing: Mapping[str, str], left: float) -> None:
        self._screen.waiting(missing, left)

    def done(self, claim: str) -> None:  # noqa: ARG002 - cases say themselves what they have shown
        self._screen.done_waiting()
