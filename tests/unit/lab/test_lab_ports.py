"""Port blocks: free ones, never the same twice, forgotten with their lab."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from drills.lab.errors import LabError
from drills.lab.places import lab_folder
from drills.lab.ports import Ports, allocate, taken

ALLOCATE = """
import sys
from drills.lab.places import lab_folder
from drills.lab.ports import allocate
print(allocate(lab_folder(sys.argv[1])).base)
"""


@contextlib.contextmanager
def listening(host: str) -> Iterator[int]:
    with socket.create_server((host, 0)) as server:
        yield server.getsockname()[1]


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_a_port_with_a_listener_is_taken_and_then_free_again(host: str) -> None:
    with listening(host) as port:
        assert taken(port)
    assert not taken(port)


def test_every_purpose_has_a_port_of_its_own_inside_the_block() -> None:
    ports = Ports(17000)
    every = [ports.epmd, *range(ports.cli[0], ports.cli[1] + 1), ports.prometheus, ports.alertmanager, *ports.spare]
    purposes = (ports.amqp, ports.management, ports.rabbitmq_metrics, ports.stream, ports.distribution)
    every += [of(node) for of in (*purposes, ports.controller, ports.broker) for node in (1, 2, 3)]
    assert len(every) == len(set(every))
    assert set(every) <= set(range(17000, 17100))


def test_two_labs_have_two_blocks() -> None:
    assert [17000, 17100] == [allocate(lab_folder(name)).base for name in ("a", "b")]


def test_a_block_with_one_port_in_use_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MQOPS_LAB_PORTS", "18000-18999")  # no other test asks for these to be free
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)  # the same test may run beside, for somebody else
        server.bind(("127.0.0.1", 18042))
        server.listen()
        assert 18000 < allocate(lab_folder("a")).base


def test_a_block_is_free_again_when_the_folder_of_its_lab_is_gone() -> None:
    allocate(lab_folder("a"))
    shutil.rmtree(lab_folder("a"))
    assert 17000 == allocate(lab_folder("b")).base


def test_a_damaged_register_is_begun_again(own_places: Path) -> None:
    (own_places / "cache").mkdir()
    (own_places / "cache" / "ports.json").write_text("{")
    assert 17000 == allocate(lab_folder("a")).base


def test_drivers_at_the_same_time_never_get_the_same_block() -> None:
    drivers = [
        subprocess.Popen([sys.executable, "-c", ALLOCATE, f"lab-{n}"], stdout=subprocess.PIPE, text=True)
        for n in range(6)
    ]
    assert {str(17000 + 100 * n) for n in range(6)} == {driver.communicate(timeout=30)[0].strip() for driver in drivers}


def test_no_free_block_is_an_error_that_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MQOPS_LAB_PORTS", "17000-17099")
    allocate(lab_folder("a"))
    with pytest.raises(LabError, match="no free block of 100 ports in 17000-17099: end a lab"):
        allocate(lab_folder("b"))


@pytest.mark.parametrize("text", ["17000", "17000-", "2000-1000", "80-1000", "a-b", "60000-70000"])
def test_a_port_range_that_is_none_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MQOPS_LAB_PORTS", text)
    with pytest.raises(LabError, match="MQOPS_LAB_PORTS must be FIRST-LAST"):
        allocate(lab_folder("a"))
