"""Locks between processes. They end with the process that holds them, so a killed driver leaves nothing busy."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from drills.lab.errors import RefusedError
from drills.lab.report import Report

PATIENCE = 300.0  # seconds; an `up` with downloads may be at work


@contextlib.contextmanager
def hold(
    path: Path, purpose: str, *, shared: bool = False, seconds: float = PATIENCE, report: Report | None = None
) -> Iterator[None]:
    """Holds the lock file `path` (made when missing) while the block runs.

    Raises RefusedError when another process still holds it after `seconds`. The holder may remove the file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = _take(path, purpose, shared, time.monotonic() + seconds, report or Report())
    try:
        if not shared:
            os.truncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()} {purpose}".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _take(path: Path, purpose: str, shared: bool, deadline: float, report: Report) -> int:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 200, 0).decode(errors="replace") or "unknown"
            os.close(descriptor)
            left = deadline - time.monotonic()
            if left <= 0:
                raise RefusedError(
                    f"{purpose}: another process is at work on it (pid and task: {holder}); wait for it or end it"
                ) from None
            report.waiting({f"another process is done ({holder})": "it holds the lock"}, left)
            time.sleep(0.1)
            continue
        if _same(descriptor, path):
            return descriptor
        os.close(descriptor)  # the last holder removed the file: lock the new one


def _same(descriptor: int, path: Path) -> bool:
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    mine = os.fstat(descriptor)
    return (mine.st_dev, mine.st_ino) == (there.st_dev, there.st_ino)
