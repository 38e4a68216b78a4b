"""Small file systems in memory, so that a disk can be made really full. They need the right to mount."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from drills.lab.errors import LabError, RefusedError
from drills.lab.waiting import wait_for

FREE = 15.0  # seconds: a process that was just ended may hold its files a moment longer


def check_size(size: str) -> str:
    """The size as mount takes it, such as 40m; raises LabError."""
    if not re.fullmatch(r"[1-9]\d*[kmg]", size):
        raise LabError(f"{size!r} is not the size of a tmpfs: use a number and k, m or g, such as 40m")
    return size


def mounted(folder: Path) -> bool:
    """Whether something is mounted on the folder."""
    return folder in mounts_under(folder)


def mount(folder: Path, size: str) -> None:
    """Mounts a tmpfs on the folder unless there is one. Raises RefusedError with mount's own reason."""
    folder.mkdir(parents=True, exist_ok=True)
    if mounted(folder):
        return
    done = _run("mount", "-t", "tmpfs", "-o", f"size={size},mode=755", "mqops-lab", str(folder))
    if done.returncode != 0:
        raise RefusedError(
            f"can't mount a tmpfs of {size} on {folder}: {done.stderr.strip()} "
            "(it needs root; in a container, the right to mount)"
        )


def mounts_under(folder: Path) -> list[Path]:
    """Mount points at or below the folder, deepest first."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    points = [Path(line.split()[4].encode().decode("unicode_escape")) for line in lines]
    return sorted(
        (point for point in points if point.is_relative_to(folder)), key=lambda point: len(point.parts), reverse=True
    )


def unmount_under(folder: Path) -> None:
    """Unmounts everything at or below the folder. Raises LabError when something is in use for longer than FREE."""
    for point in mounts_under(folder):
        wait_for(f"{point} is unmounted", lambda point=point: _lack(point), FREE)  # type: ignore[misc]


def _lack(point: Path) -> str | None:
    done = _run("umount", str(point))
    return None if done.returncode == 0 else f"{done.stderr.strip()}; see who uses it with `fuser -vm {point}`"


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)
