"""Labs beside the session's: each test takes down what it made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from drills.lab import take_down
from drills.lab.ports import SIZE, taken
from drills.lab.processes import marked
from drills.lab.tmpfs import mounts_under

Traces = tuple[list[str], list[int], list[str], bool]
NOTHING: Traces = ([], [], [], False)


def traces(folder: Path, base: int) -> Traces:
    """What is left of a lab: processes (by mark or by working folder), open ports, mounts, its folder."""
    processes = [f"{one.command} {one.process.pid}" for one in marked(folder)]
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "cwd").readlink().is_relative_to(folder):
                processes.append(f"in its folder: {(entry / 'comm').read_text().strip()} {entry.name}")
        except OSError:
            continue  # ended meanwhile
    ports = [port for port in range(base, base + SIZE) if taken(port)]
    return processes, ports, [str(point) for point in mounts_under(folder)], folder.exists()


@pytest.fixture
def other_name(lab_name: str, request: pytest.FixtureRequest) -> Iterator[Callable[[str], str]]:
    """Gives names for labs of the test's own, which are taken down afterwards."""
    given: list[str] = []

    def name(suffix: str) -> str:
        given.append(f"{lab_name}-{suffix}")
        return given[-1]

    yield name
    for one in given:
        take_down(one)
