"""A real `mq-exporter` process on the lab, looked at only over HTTP, as Prometheus does."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from drills.lab import Lab
from drills.lab.processes import tail
from drills.lab.waiting import wait_for

OPENMETRICS = "application/openmetrics-text; version=1.0.0"
INTERVAL = 1.0
TIMEOUT = 2.0  # of one request to a broker


@dataclass(frozen=True, slots=True)
class Exporter:
    """The process and its page."""

    process: subprocess.Popen[bytes]
    url: str
    log: Path

    def get(self, path: str, **headers: str) -> requests.Response:
        """One request, with a deadline of 10 s, Prometheus' own."""
        return requests.get(self.url + path, headers=headers, timeout=10)

    def samples(self, name: str, **labels: str) -> dict[tuple[tuple[str, str], ...], float]:
        """The samples that have these labels, keyed by their other labels; the whole page is parsed strictly."""
        text = self.get("/metrics", Accept=OPENMETRICS).content.decode()
        return {
            tuple(sorted((key, value) for key, value in sample.labels.items() if key not in labels)): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        }

    def value(self, name: str, **labels: str) -> float | None:
        """The value of the one sample with these labels; None when there is none."""
        found = list(self.samples(name, **labels).values())
        assert len(found) <= 1, f"{name}{labels} names {len(found)} samples"
        return found[0] if found else None

    def await_value(self, expected: object, name: str, seconds: float = 30, **labels: str) -> None:
        """Wait until the sample has this value (None: until it is absent)."""
        self.await_that(
            lambda: self.value(name, **labels), lambda seen: seen == expected, f"{name}{labels} = {expected}", seconds
        )

    def await_that(self, look: Callable[[], Any], holds: Callable[[Any], bool], what: str, seconds: float = 30) -> Any:
        """Look until it holds; what was seen then. Fails with what was seen last."""
        seen: list[Any] = [None]

        def lack() -> str | None:
            seen[0] = look()
            return None if holds(seen[0]) else f"last seen {seen[0]!r}"

        wait_for(what, lack, seconds)
        return seen[0]

    def await_polls(self, count: int = 2) -> None:
        """Wait until so many further polls of every cluster have begun, so that the page shows what is true now."""
        name, deadline = "mq_exporter_collector_last_success_timestamp_seconds", time.time() + count * INTERVAL
        for collector in ("topics", "nodes"):
            self.await_that(
                lambda collector=collector: self.value(name, collector=collector),  # type: ignore[misc]
                lambda seen: seen is not None and seen > deadline,
                f"{count} further polls ({collector})",
            )


def free_port() -> int:
    """A port that is free now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def start_exporter(folder: Path, config: dict[str, Any]) -> Exporter:
    """Start a process with this configuration (and a listen address) and wait for its port."""
    port = free_port()
    file, log = folder / "exporter.json", folder / "exporter.log"
    file.write_text(json.dumps({"web": {"listen_address": f"127.0.0.1:{port}", "enable_lifecycle": True}, **config}))
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "exporter", "--config", str(file)],
            stdout=out,
            stderr=out,
            cwd=Path(__file__).parents[3],
        )
    exporter = Exporter(process, f"http://127.0.0.1:{port}", log)

    def lack() -> str | None:
        assert process.poll() is None, f"the exporter ended: {tail(log, 20)}"
        try:
            return None if exporter.get("/-/healthy").status_code == 200 else "not healthy"
        except requests.ConnectionError:
            return "port not open"

    wait_for("the exporter", lack, 20)
    return exporter


def stop_exporter(exporter: Exporter) -> None:
    """End it as a service manager would; a process that does not end is a failure."""
    if exporter.process.poll() is None:
        exporter.process.send_signal(signal.SIGTERM)
    try:
        exporter.process.wait(15)
    except subprocess.TimeoutExpired:
        exporter.process.kill()
        raise


def config_of(lab: Lab, **more: Any) -> dict[str, Any]:
    """A configuration for both clusters of the lab, with short paces."""
    paces = {"interval": INTERVAL, "slow_interval": 2 * INTERVAL, "timeout": TIMEOUT}
    kafka = {"cluster": "lab-kafka", "bootstrap_servers": lab.kafka.bootstrap.split(",")}
    rabbitmq = {
        "cluster": "lab-rabbitmq",
        "urls": [f"http://127.0.0.1:{lab.ports.management(node)}" for node in (1, 2, 3)],
    }
    return {"kafka": [kafka | paces], "rabbitmq": [rabbitmq | paces], **more}


@pytest.fixture(scope="module")
def exporter(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Exporter]:
    """One exporter on the whole lab, ready."""
    started = start_exporter(tmp_path_factory.mktemp("exporter"), config_of(lab))
    try:
        started.await_that(
            lambda: started.get("/-/ready").status_code, lambda seen: seen == 200, "the exporter is ready"
        )
        yield started
    finally:
        stop_exporter(started)
