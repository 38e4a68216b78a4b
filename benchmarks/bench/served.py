"""(c), (e), (f): a real `mq-exporter` process on the large cluster, looked at over HTTP and in /proc."""

from __future__ import annotations

import gzip
import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from threading import Event
from typing import Any

from benchmarks import memory
from benchmarks.timing import percentile
from drills.lab.processes import tail
from drills.lab.waiting import wait_for

ROOT = Path(__file__).parents[2]
AGE, BOUND = b"\nmq_kafka_group_oldest_message_age_seconds{", b"\nmq_kafka_group_age_error_bound_seconds{"
READY, ALL_AGES, POLLS = 120.0, 300.0, 1800.0  # seconds
LAST = re.compile(rb'\nmq_exporter_collector_last_success_timestamp_seconds\{[^}]*collector="commits"\} (\S+)')
TOOK = re.compile(rb"\nmq_exporter_poll_duration_seconds\{[^}]*\} (\S+)")
LOOK = 0.05  # seconds between two scrapes while polls run


@dataclass(frozen=True, slots=True)
class Scrapes:
    """Milliseconds of some scrapes and the size of one."""

    p50: float
    p99: float
    size: int
    series: int


class Exporter:
    """The process and one connection to it."""

    def __init__(self, process: subprocess.Popen[bytes], port: int, log: Path, began: float) -> None:
        self.process, self.port, self.log, self.began = process, port, log, began
        self.connection = HTTPConnection("127.0.0.1", port, timeout=60)
        self.body = bytearray()

    def get(self, path: str, encoding: str = "identity") -> tuple[int, bytes]:
        """Status and body, as sent."""
        assert self.process.poll() is None, f"the exporter ended:\n{tail(self.log, 20)}"
        self.connection.request("GET", path, headers={"Accept-Encoding": encoding})
        response = self.connection.getresponse()
        return response.status, response.read()

    def take(self, encoding: str) -> int:
        """Scrape as Prometheus does, into memory that is used again and again; the size.

        50 MB of fresh memory cost this reader 40 ms of page faults at each scrape, three times what sending them costs.
        """
        self.connection.request("GET", "/metrics", headers={"Accept-Encoding": encoding})
        response = self.connection.getresponse()
        size = response.length or 0
        if size > len(self.body):
            self.body = bytearray(b"x" * (size + size // 10))
        got = response.readinto(memoryview(self.body)[:size])
        response.close()
        assert (response.status, got) == (200, size), f"status {response.status}, {got} of {size} bytes"
        return size

    def text(self) -> bytes:
        """The page."""
        return self.get("/metrics")[1]

    def scrapes(self, count: int, encoding: str, between: Callable[[], object]) -> Scrapes:
        """Scrape so often; `between` is called before each."""
        seen, largest = [], b""
        self.take(encoding)
        for _ in range(count):
            between()
            began = time.perf_counter()
            size = self.take(encoding)
            seen.append((1000 * (time.perf_counter() - began), size))
            largest = bytes(self.body[:size]) if size > len(largest) else largest
        # on a machine so busy that polls overrun their interval the data is withheld for a while: that is no scrape
        took = [milliseconds for milliseconds, size in seen if size > len(largest) / 2]
        assert len(took) > count / 2, f"{count - len(took)} of {count} pages were withheld"
        body = largest
        text = gzip.decompress(body) if encoding == "gzip" else body
        series = text.count(b"\n") - text.count(b"\n# ") - text.startswith(b"#")
        return Scrapes(percentile(took, 0.5), percentile(took, 0.99), len(body), series)

    def resident_mb(self) -> float:
        """Resident memory now."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * 4096 / 2**20

    def poll_seconds(self) -> float:
        """How long the last poll took, as the page says."""
        found = TOOK.search(self.text())
        assert found is not None, "the page does not say how long a poll took"
        return float(found[1])

    def last_poll(self) -> bytes:
        """When the last poll that the page shows read the commits; told by the small end of the page."""
        found = LAST.search(self.text())
        return found[1] if found else b""


@contextmanager
def exporter(folder: Path, section: Mapping[str, Any]) -> Iterator[Exporter]:
    """A process with one Kafka cluster, while the block runs."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    folder.mkdir(parents=True, exist_ok=True)
    config, log = folder / "exporter.json", folder / "exporter.log"
    config.write_text(json.dumps({"web": {"listen_address": f"127.0.0.1:{port}"}, "kafka": [section]}))
    began = time.monotonic()
    with log.open("wb") as out:
        command = [sys.executable, "-m", "exporter", "--config", str(config)]
        process = subprocess.Popen(command, stdout=out, stderr=out, cwd=ROOT)
    try:
        yield Exporter(process, port, log, began)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def started(served: Exporter) -> float:
    """Seconds from the start of the process to its first complete page."""

    def lack() -> str | None:
        try:
            status, _ = served.get("/-/ready")
        except OSError:
            served.connection.close()
            return "does not listen yet"
        return None if status == 200 else f"status {status}"

    wait_for("the first page is complete", lack, READY)
    return time.monotonic() - served.began


def all_ages(served: Exporter, expected: int) -> tuple[float, int]:
    """Seconds from the start until every age is there and exact, and how many polls were left out meanwhile."""
    page: list[bytes] = []

    def lack() -> str | None:
        page[:] = [served.text()]
        exact = page[0].count(AGE) - page[0].count(BOUND)
        return None if exact == expected else f"{exact} of {expected} ages are exact"

    wait_for("every age is exact", lack, ALL_AGES)
    took = time.monotonic() - served.began
    skipped = re.search(rb"\nmq_exporter_polls_skipped_total\{[^}]*\} (\S+)", page[0])
    assert skipped is not None, "the page does not count polls that were left out"
    return took, int(float(skipped[1]))


def quiet_scrapes(served: Exporter, count: int, encoding: str, window: float) -> Scrapes:
    """Scrapes in the `window` seconds after a poll has ended, while no poll runs."""
    until = [0.0]

    def between() -> None:
        if time.monotonic() < until[0]:
            return
        before = served.last_poll()
        wait_for("the next poll", lambda: None if served.last_poll() != before else "not yet", POLLS)
        until[0] = time.monotonic() + window

    return served.scrapes(count, encoding, between)


@dataclass(frozen=True, slots=True)
class Polls:
    """What many polls, one right after the other, did to memory; and scrapes meanwhile."""

    count: int
    rss_mb: float
    growth_mb: float
    plain: Scrapes
    compressed: Scrapes


def many_polls(served: Exporter, count: int, per_form: int, pace: float) -> Polls:
    """Wait for so many polls; scrape in both forms while they run. Growth is that of the best line after a quarter.

    Each look takes the whole page, so there are two for each poll (one in `pace` seconds) and no more.
    """
    seen: list[bytes] = [served.last_poll()]
    points: list[tuple[float, float]] = []
    forms: dict[str, Scrapes] = {}
    pause = Event()
    deadline = time.monotonic() + POLLS
    while len(seen) <= count:
        assert time.monotonic() < deadline, f"{len(seen) - 1} polls in {POLLS:.0f} s"
        for encoding in ("identity", "gzip"):
            if encoding not in forms:
                forms[encoding] = served.scrapes(per_form, encoding, lambda: pause.wait(LOOK))
        if (last := served.last_poll()) not in (b"", seen[-1]):  # empty: withheld, polls overran
            seen.append(last)
            points.append((float(len(seen)), served.resident_mb()))
        pause.wait(pace / 2)
    grown = memory.growth(points)
    return Polls(len(seen) - 1, max(value for _, value in points), grown, forms["identity"], forms["gzip"])
