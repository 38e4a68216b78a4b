"""A real process: it serves, reloads and stops as it is told, whatever the brokers do."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.ports import reserved_port

ROOT = Path(__file__).parents[3]
DEADLINE = 60.0  # of waits that succeed in a moment where the machine is idle
FILE = """
kafka:
  - cluster: {cluster}
    bootstrap_servers: ["127.0.0.1:1"]
    timeout: 1s
"""


class Process:
    """A running mq-exporter and what it has logged. `port`: where it is to listen, instead of on one of its own.

    `mutation`: the name of one that is in force in the process.
    """

    def __init__(self, *arguments: str, port: int | None = None, mutation: str | None = None) -> None:
        self._held = ExitStack()
        port = self._held.enter_context(reserved_port()) if port is None else port
        module = ["exporter"] if mutation is None else ["tests.broker.exporter.mutated", mutation, "--"]
        command = [sys.executable, "-m", *module, "--web.listen-address", f"127.0.0.1:{port}", *arguments]
        self.url = f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        self.lines.extend(iter(self.process.stderr.readline, ""))

    def get(self, path: str, method: str = "GET") -> tuple[int, str]:
        try:
            with urllib.request.urlopen(urllib.request.Request(self.url + path, method=method), timeout=20) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def wait_for(self, words: str) -> None:
        self.wait_until(lambda: any(words in line for line in self.lines), repr(words))

    def wait_until(self, claim: Callable[[], bool], what: str) -> None:
        pause, deadline = threading.Event(), time.monotonic() + DEADLINE
        while not claim():
            assert time.monotonic() < deadline, f"no {what} in: {''.join(self.lines)}"
            assert self.process.poll() is None, f"ended before {what}: {''.join(self.lines)}"
            pause.wait(0.02)

    def end(self, number: signal.Signals) -> tuple[int, float]:
        """Exit code, and seconds until it had ended."""
        began = time.monotonic()
        self.process.send_signal(number)
        code = self.process.wait(DEADLINE)
        took = time.monotonic() - began
        self.close()
        return code, took

    def close(self) -> None:
        self._reader.join()
        assert self.process.stderr is not None
        self.process.stderr.close()
        self._held.close()


@contextmanager
def running(*arguments: str) -> Iterator[Process]:
    process = Process(*arguments)
    try:
        process.wait_for("serves on")
        yield process
    finally:
        if process.process.poll() is None:
            process.end(signal.SIGKILL)


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that takes connections and never answers: a broker that hangs."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        yield int(listener.getsockname()[1])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_cleanly_when_told(number: signal.Signals) -> None:
    with running("--kafka", "127.0.0.1:1") as process:
        process.wait_for("first poll done")
        assert 200 == process.get("/-/healthy")[0]
        code, took = process.end(number)
        assert 0 == code
        assert took < 10  # two seconds where the machine is idle
        assert process.lines[-1].endswith("stopped\n")


def test_it_stops_while_a_broker_hangs(silent_port: int) -> None:
    with running("--kafka", f"127.0.0.1:{silent_port}") as process:
        assert 503 == process.get("/-/ready")[0]
        assert 200 == process.get("/metrics")[0]
        code, took = process.end(signal.SIGTERM)
        assert (0, True) == (code, took < 4.5), "the request's own deadline is 5 s"


def test_it_reloads_on_sighup_and_over_http(tmp_path: Path) -> None:
    file = tmp_path / "mq.yaml"
    file.write_text(FILE.format(cluster="first"))
    with running("--config", str(file), "--web.enable-lifecycle") as process:
        process.wait_for("kafka/first: first poll done")
        file.write_text(FILE.format(cluster="second") + "nonsense: 1\n")
        process.process.send_signal(signal.SIGHUP)
        process.wait_for("the one before stays in force")
        assert "mq_exporter_config_reload_success 0" in process.get("/metrics")[1]
        file.write_text(FILE.format(cluster="second"))
        process.process.send_signal(signal.SIGHUP)
        process.wait_for("configuration reloaded: kafka/first: removed")
        process.wait_for("kafka/second: first poll done")
        page = process.get("/metrics")[1]
        assert "mq_exporter_config_reload_success 1" in page
        assert 'cluster="first"' not in page
        assert (200, "reloaded\nnothing changed\n") == process.get("/-/reload", "POST")


def test_a_port_in_use_ends_it_with_what_to_do() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen(1)
        port = taken.getsockname()[1]
        process = Process("--kafka", "127.0.0.1:1", port=port)
        assert 1 == process.process.wait(DEADLINE)
        process.close()
    why = "the port is in use (by another mq-exporter?); choose another with --web.listen-address"
    assert [f"mq-exporter: cannot listen on 127.0.0.1:{port}: {why}\n"] == process.lines


def test_each_state_is_logged_once_and_not_at_each_poll() -> None:
    errors = re.compile(r'^mq_exporter_collector_errors_total{.*collector="topics",kind="unreachable"} (\d+)', re.M)

    def polls(process: Process) -> int:
        found = errors.search(process.get("/metrics")[1])
        return int(found[1]) if found else 0

    with running("--kafka", "127.0.0.1:1", "--interval", "100ms") as process:
        process.wait_until(lambda: polls(process) >= 5, "five failing polls")
        process.end(signal.SIGTERM)
    assert 1 == sum("connection refused" in line for line in process.lines)
