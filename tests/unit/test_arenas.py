"""Threads share a few arenas of malloc."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from exporter.arenas import ARENAS

SCRIPT = """
import ctypes, sys, threading
from exporter.arenas import keep_little

if sys.argv[2] == "few":
    keep_little()
held = threading.Barrier(9)

def hold():
    kept = ctypes.create_string_buffer(100_000)
    held.wait()
    held.wait()

threads = [threading.Thread(target=hold) for _ in range(8)]
for thread in threads:
    thread.start()
held.wait()
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
file = ctypes.c_void_p(libc.fopen(sys.argv[1].encode(), b"w"))
libc.malloc_info(0, file)
libc.fclose(file)
held.wait()
"""


def arenas(folder: Path, how: str, **environment: str) -> int:
    """How many there are while eight threads hold memory."""
    told = folder / "arenas.xml"
    command = [sys.executable, "-c", SCRIPT, str(told), how]
    given = {name: value for name, value in os.environ.items() if name != "MALLOC_ARENA_MAX"} | environment
    subprocess.run(command, check=True, env=given, timeout=60)
    return told.read_text().count("<heap ")


@pytest.mark.parametrize(("environment", "expected"), [({}, ARENAS), ({"MALLOC_ARENA_MAX": "3"}, 3)])
def test_threads_share_two_arenas_unless_the_environment_says_otherwise(
    tmp_path: Path, environment: dict[str, str], expected: int
) -> None:
    assert expected == arenas(tmp_path, "few", **environment)


def test_left_alone_they_would_have_more(tmp_path: Path) -> None:
    assert ARENAS < arenas(tmp_path, "many")


LARGE_SCRIPT = """
import sys
from pathlib import Path
from exporter.arenas import keep_little

if sys.argv[1] == "few":
    keep_little()

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

for size in (30, 20, 10):
    bytes(size << 20)  # freed at once: left alone, malloc keeps all that is smaller from now on
before = resident()
large = [b"x" * (8 << 20) for _ in range(4)]
pin = bytes(100_000)
del large
print(resident() - before)
"""


def kept_after_large_ones(how: str) -> int:
    """Bytes that are still there after 32 MiB were freed."""
    command = [sys.executable, "-c", LARGE_SCRIPT, how]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    done = subprocess.run(command, check=True, env=kept, timeout=60, capture_output=True, text=True)
    return int(done.stdout)


def test_large_blocks_are_given_back_and_would_not_be() -> None:
    assert kept_after_large_ones("few") < 1 << 20 < kept_after_large_ones("many")
