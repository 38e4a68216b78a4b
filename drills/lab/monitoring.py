"""Prometheus and Alertmanager in a lab."""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from drills.lab import probes, versions
from drills.lab.errors import LabError
from drills.lab.node import Node, Site
from drills.lab.processes import Process, spawn
from drills.lab.record import write_whole

RELOAD = 10.0  # seconds


class Monitor(Node):
    """What the two share: a configuration file that is JSON (so also YAML), and /-/ready and /-/reload."""

    port: int

    def answers(self) -> bool:
        """/-/ready says 200."""
        return probes.http_get(self.port, "/-/ready")[0] == 200

    def prepare(self) -> None:
        """Writes the first configuration; a later one stays."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if not self._file.exists():
            write_whole(self._file, json.dumps(self.first_configuration(), indent=1))

    def first_configuration(self) -> dict[str, Any]:
        """The configuration of a new lab."""
        raise NotImplementedError

    def configuration(self) -> dict[str, Any]:
        """The configuration now."""
        found: dict[str, Any] = json.loads(self._file.read_text())
        return found

    def configure(self, configuration: Mapping[str, Any]) -> None:
        """Writes and loads a configuration. Refused: LabError with the server's reason, and the old one stays."""
        old = self._file.read_text()
        write_whole(self._file, json.dumps(configuration, indent=1))
        status, body = probes.http_get(self.port, "/-/reload", method="POST", timeout=RELOAD)
        if status != 200:
            write_whole(self._file, old)
            raise LabError(f"{self.name} refused its configuration ({status}): {body.decode(errors='replace').strip()}")

    @property
    def listens(self) -> dict[str, int]:
        """Its web port."""
        return {self.name: self.port}

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def _file(self) -> Path:
        return self.folder / f"{self.name}.yml"

    def _spawn(self, program: str, *options: str) -> Process:
        programs = versions.located("prometheus", self.site.record.settings.prometheus_version)
        command = [*programs.command(program), *options]
        return spawn(command, environment=self.site.environment(self.name), cwd=self.folder, log=self.log)


class Prometheus(Monitor):
    """Scrapes and evaluates every second; jobs and rules are added while it runs."""

    system = program = "prometheus"

    def __init__(self, site: Site) -> None:
        super().__init__(site, "prometheus", 1)
        self.port = site.ports.prometheus

    def first_configuration(self) -> dict[str, Any]:
        """No job and no rule yet; alerts go to the lab's Alertmanager."""
        alertmanager = {"static_configs": [{"targets": [f"127.0.0.1:{self.site.ports.alertmanager}"]}]}
        return {
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
            "alerting": {"alertmanagers": [alertmanager]},
            "rule_files": [],
            "scrape_configs": [],
        }

    def spawn(self) -> Process:
        """Starts the server."""
        return self._spawn(
            "prometheus",
            f"--config.file={self._file}",
            f"--storage.tsdb.path={self.folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{self.port}",
            "--web.enable-lifecycle",
            "--web.enable-admin-api",
            "--storage.tsdb.retention.time=2d",
            "--rules.alert.resend-delay=1s",
            "--log.level=warn",
        )

    def scrape(self, job: str, targets: Sequence[str], interval: str = "1s", **more: Any) -> None:
        """Adds or replaces a scrape job and loads it. `targets` are HOST:PORT; `more`: other keys of scrape_configs."""
        static = [{"targets": list(targets)}]
        fresh = {
            "job_name": job,
            "scrape_interval": interval,
            "scrape_timeout": interval,
            "static_configs": static,
            **more,
        }
        now = self.configuration()
        others = [one for one in now["scrape_configs"] if one["job_name"] != job]
        self.configure({**now, "scrape_configs": [*others, fresh]})

    def rules(self, files: Sequence[Path]) -> None:
        """Sets the rule files and loads them."""
        self.configure({**self.configuration(), "rule_files": [str(path.absolute()) for path in files]})

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The result of an instant query: `metric` and `value` of each series. Raises LabError without an answer."""
        path = "/api/v1/query?" + urllib.parse.urlencode({"query": expression})
        status, body = probes.http_get(self.port, path, timeout=RELOAD)
        if status != 200:
            raise LabError(f"Prometheus can't answer {expression!r} ({status}): {body.decode(errors='replace')[:500]}")
        result: list[dict[str, Any]] = json.loads(body)["data"]["result"]
        return result


class Alertmanager(Monitor):
    """Groups and sends within a second or two; without a receiver alerts are only kept."""

    system = "alertmanager"
    program = "prometheus-aler"  # the kernel keeps 15 characters

    def __init__(self, site: Site) -> None:
        super().__init__(site, "alertmanager", 1)
        self.port = site.ports.alertmanager

    def first_configuration(self) -> dict[str, Any]:
        """A receiver that sends nothing."""
        pace = {"group_wait": "1s", "group_interval": "2s", "repeat_interval": "1h"}
        return {"route": {"receiver": "lab", "group_by": ["..."], **pace}, "receivers": [{"name": "lab"}]}

    def spawn(self) -> Process:
        """Starts the server, without the gossip of a cluster."""
        return self._spawn(
            "prometheus-alertmanager",
            f"--config.file={self._file}",
            f"--storage.path={self.folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{self.port}",
            "--cluster.listen-address=",
            "--log.level=warn",
        )

    def webhook(self, url: str) -> None:
        """Sends all alerts, and that they are resolved, to a URL."""
        hook = {"name": "lab", "webhook_configs": [{"url": url, "send_resolved": True}]}
        self.configure({**self.configuration(), "receivers": [hook]})
