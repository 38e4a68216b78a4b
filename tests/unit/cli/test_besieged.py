"""A real process goes on polling and answering, whatever its clients do."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress

import pytest

from tests.unit.cli.test_process import Process, running

SLOW = 200
POLLS = re.compile(r'^mq_exporter_collector_errors_total{.*collector="topics",kind="unreachable"} (\d+)', re.M)
REQUEST = b"GET /metrics HTTP/1.1\r\nHost: exporter\r\nX-Slow: "


@pytest.fixture(scope="module")
def process() -> Iterator[Process]:
    """An exporter that polls ten times a second; that nobody answers is as good as anything."""
    with running("--kafka", "127.0.0.1:1", "--interval", "100ms") as found:
        found.wait_for("first poll done")
        yield found


def polls(process: Process) -> int:
    """How many polls have ended, by a scrape that must succeed."""
    status, page = process.get("/metrics")
    assert 200 == status
    assert page.endswith("\n")
    found = POLLS.search(page)
    return int(found[1]) if found else 0


def goes_on(process: Process, scrapes: int = 5) -> None:
    """More polls end while scrapes are answered."""
    first = polls(process)
    process.wait_until(lambda: polls(process) >= first + scrapes, f"{scrapes} more polls")


def connected(process: Process, stack: ExitStack, count: int) -> list[socket.socket]:
    port = int(process.url.rpartition(":")[2])
    return [stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60)) for _ in range(count)]


@contextmanager
def in_background(action: Callable[[], None]) -> Iterator[None]:
    """Does it again and again, once a second."""
    done = threading.Event()

    def repeat() -> None:
        while not done.wait(1.0):
            action()

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def test_200_clients_that_send_a_byte_a_second_stop_nobody(process: Process) -> None:
    with ExitStack() as stack:
        slow = connected(process, stack, SLOW)
        for connection in slow:
            connection.sendall(REQUEST)

        def drip() -> None:
            for connection in slow:
                with suppress(OSError):  # given up by the server, as it should be
                    connection.sendall(b"x")

        with in_background(drip):
            goes_on(process)
            with ThreadPoolExecutor(20) as pool:
                assert {200} == set(pool.map(lambda _: process.get("/-/healthy")[0], range(100)))
            process.wait_until(lambda: sum(map(ended, slow)) == SLOW, "the end of every slow one")


def ended(connection: socket.socket) -> bool:
    """Whether the server has closed this connection; what it said before does not count."""
    connection.setblocking(False)
    try:
        while connection.recv(65536):
            pass
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def test_clients_that_never_read_stop_nobody(process: Process) -> None:
    with ExitStack() as stack:
        for connection in connected(process, stack, 20):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
            connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 50)
        goes_on(process)


def test_200_scrapes_at_once_are_answered_while_it_polls(process: Process) -> None:
    first, began = polls(process), time.monotonic()
    with ThreadPoolExecutor(200) as pool:
        pages = list(pool.map(lambda _: process.get("/metrics"), range(400)))
    took = time.monotonic() - began
    assert {200} == {status for status, _ in pages}
    assert all("mq_exporter_build_info" in page for _, page in pages)
    process.wait_until(lambda: polls(process) > first + min(took, 5), "polls beside the scrapes")
