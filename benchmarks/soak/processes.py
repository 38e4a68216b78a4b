"""The processes of a soak: the exporter, the workloads and the reader. They carry the lab's mark and end with it."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.soak.checks import INTERVAL
from benchmarks.soak.truth import Lines
from drills.lab import Lab, LabError
from drills.lab.probes import http_get
from drills.lab.processes import Process, spawn, tail
from drills.lab.waiting import wait_for

ROOT = Path(__file__).parents[2]
READY = 60.0  # seconds


def configuration(lab: Lab, port: int) -> dict[str, Any]:
    """Both clusters, polled every five seconds."""
    paces = {"interval": INTERVAL, "slow_interval": 3 * INTERVAL}
    urls = [f"http://127.0.0.1:{lab.ports.management(node)}" for node in (1, 2, 3)]
    return {
        "web": {"listen_address": f"127.0.0.1:{port}"},
        "kafka": [{"cluster": "soak-kafka", "bootstrap_servers": lab.kafka.bootstrap.split(","), **paces}],
        "rabbitmq": [{"cluster": "soak-rabbitmq", "urls": urls, **paces}],
    }


def start(lab: Lab, name: str, module: Sequence[str]) -> Process:
    """`python -m MODULE ...`, from this checkout."""
    command = [sys.executable, "-m", *module]
    return spawn(command, environment=lab.site.environment(name), cwd=ROOT, log=log_of(lab, name))


def end(process: Process, name: str) -> None:
    """End a process and wait until it has ended."""
    process.send(signal.SIGTERM)
    wait_for(f"{name} has ended", lambda: "still runs" if process.alive() else None, READY)


def log_of(lab: Lab, name: str) -> Path:
    """Where a process writes what it has to say."""
    return lab.folder / "logs" / f"{name}.log"


def start_exporter(lab: Lab, broken: str) -> tuple[Process, int]:
    """`mq-exporter`, or one broken on purpose, and its port; returns when its first page is complete."""
    port = lab.ports.spare[0]
    config = lab.folder / "exporter.yml"
    config.write_text(json.dumps(configuration(lab, port), indent=1))  # JSON is YAML
    module = ["benchmarks.soak.broken", broken] if broken else ["exporter"]
    process = start(lab, "exporter", [*module, "--config", str(config)])

    def lack() -> str | None:
        if not process.alive():
            raise LabError(f"the exporter ended:\n{tail(log_of(lab, 'exporter'), 20)}")
        return None if http_get(port, "/-/ready")[0] == 200 else "not ready"

    wait_for("the exporter is ready", lack, READY)
    return process, port


class Worker:
    """A workload or the reader. One that ends is started again, as another generation of names."""

    def __init__(self, lab: Lab, name: str, where: str, generations: bool) -> None:
        self.lab, self.name, self.where, self.generations = lab, name, where, generations
        self.starts = 0
        book = lab.folder / f"{name}.jsonl"
        self.lines = Lines(book)
        self.process = self._start(book)

    def _start(self, book: Path) -> Process:
        generation = [f"{time.time():.0f}"[-6:]] if self.generations else []
        self.starts += 1
        return start(self.lab, self.name, [f"benchmarks.soak.{self.name}", self.where, str(book), *generation])

    def end(self) -> None:
        """End it."""
        end(self.process, self.name)

    def keep_alive(self) -> None:
        """Start it again when it has ended."""
        if not self.process.alive():
            self.process = self._start(self.lines.path)
