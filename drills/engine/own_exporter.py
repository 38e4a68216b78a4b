"""The exporter of a run: `mq-exporter` as a process, read over HTTP as Prometheus reads it."""

from __future__ import annotations

import json
import signal
import socket
import sys
from pathlib import Path

from drills.engine import processes
from drills.lab.errors import LabError
from drills.lab.probes import http_get
from drills.lab.processes import Process, tail
from drills.lab.record import write_whole
from drills.lab.report import Report
from drills.lab.waiting import wait_for
from drills.ledger import Ledger
from drills.targets.target import Target

READY = 60.0  # seconds
NAME = "exporter"


class OwnExporter:
    """Started for a target that names no exporter. Raises LabError with the end of its log."""

    def __init__(self, ledger: Ledger, target: Target, folder: Path, report: Report) -> None:
        self._log = folder / "logs" / "exporter.log"
        self._ledger = ledger
        port = _free_port()
        config = folder / "exporter.yaml"
        web = {"listen_address": f"127.0.0.1:{port}"}
        write_whole(config, json.dumps({"web": web, **target.exporter_config()}, indent=1))  # JSON is YAML
        command = [sys.executable, "-m", "exporter", "--config", str(config)]
        self.process: Process = processes.start(ledger, "", NAME, command, self._log)
        self.url = f"http://127.0.0.1:{port}/metrics"
        wait_for("the run's exporter is ready", lambda: self._lack(port), READY, report)

    def stop(self) -> None:
        """Ends it."""
        if self.process.send(signal.SIGTERM):
            wait_for("the run's exporter has ended", self._runs, processes.END)
        self._ledger.worker_ended(NAME, None)

    def _runs(self) -> str | None:
        return "it still runs" if self.process.alive() else None

    def _lack(self, port: int) -> str | None:
        if not self.process.alive():
            raise LabError(f"the run's exporter ended:\n{tail(self._log, 15)}")
        return None if http_get(port, "/-/ready")[0] == 200 else "not ready yet"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
