"""A real `mq-exporter` process, looked at only over HTTP, as Prometheus does."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest
import requests
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from drills.lab import Lab, LabError
from drills.lab.processes import tail
from drills.lab.waiting import wait_for

OPENMETRICS = "application/openmetrics-text; version=1.0.0"
INTERVAL = 2.0
TIMEOUT = 10.0  # of one request to a broker: the machine that runs the tests may be very busy
PATIENCE = 90.0
STALE_AFTER = 3  # intervals after which data is withheld
ROOT = Path(__file__).parents[3]
Seen = TypeVar("Seen")
At = str | tuple[str, ...]


class Page:
    """One page, parsed strictly. `at` is when it was asked for."""

    def __init__(self, text: str, at: float) -> None:
        self.at = at
        self.samples: dict[str, list[tuple[dict[str, str], float]]] = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                self.samples.setdefault(sample.name, []).append((sample.labels, sample.value))

    def by(self, name: str, by: At, **labels: str) -> dict[Any, float]:
        """The samples that have these labels, by the value of another (or of several); each once."""
        names = (by,) if isinstance(by, str) else by
        found: dict[Any, float] = {}
        for given, value in self.samples.get(name, ()):
            if labels.items() <= given.items():
                key = tuple(given[label] for label in names)
                key_of_one = key[0] if isinstance(by, str) else key
                assert key_of_one not in found, f"{name}{labels} has two samples for {key_of_one}"
                found[key_of_one] = value
        return found

    def value(self, name: str, **labels: str) -> float | None:
        """The value of the one sample with these labels; None when there is none."""
        return self.by(name, (), **labels).get(())


@dataclass(frozen=True, slots=True)
class Exporter:
    """The process and its page."""

    process: subprocess.Popen[bytes]
    url: str
    log: Path
    config: Path
    interval: float = INTERVAL

    def get(self, path: str, **headers: str) -> requests.Response:
        """One request, with a deadline that only a process that hangs would pass."""
        return requests.get(self.url + path, headers=headers, timeout=60)

    def page(self) -> Page:
        """The page as it is now."""
        at = time.time()
        return Page(self.get("/metrics", Accept=OPENMETRICS).content.decode(), at)

    def until(
        self,
        what: str,
        look: Callable[[Page], Seen],
        holds: Callable[[Seen], bool] = bool,
        seconds: float = PATIENCE,
    ) -> Seen:
        """What was seen once it holds. Raises AssertionError with what was seen last."""
        seen: list[Seen] = []

        def lack() -> str | None:
            assert self.process.poll() is None, f"the exporter ended: {tail(self.log, 20)}"
            seen[:] = [look(self.page())]
            return None if holds(seen[0]) else f"last seen {seen[0]!r}"

        try:
            wait_for(what, lack, seconds)
        except LabError as error:
            raise AssertionError(f"{error}\n{tail(self.log, 20)}") from None
        return seen[0]

    def shows(self, expected: object, name: str, by: At = (), **labels: str) -> None:
        """Wait until the samples with these labels, by the others, are these."""
        what = f"{name}{labels} by {by} = {expected}"
        self.until(what, lambda page: page.by(name, by, **labels), lambda seen: seen == expected)

    def shows_value(self, expected: float | None, name: str, **labels: str) -> None:
        """Wait until the one sample with these labels has this value (None: until there is none)."""
        what = f"{name}{labels} = {expected}"
        self.until(what, lambda page: page.value(name, **labels), lambda seen: seen == expected)

    def shows_age(self, since: float, name: str, **labels: str) -> None:
        """Wait until the age is that of something that happened at `since`; the page is never older than promised."""

        def off(page: Page) -> str | None:
            age, oldest = page.value(name, **labels), time.time() - since
            youngest = page.at - since - STALE_AFTER * self.interval
            return None if age is not None and youngest <= age <= oldest else f"{youngest} <= {age} <= {oldest}"

        self.until(f"{name}{labels} is the age of {since}", off, lambda seen: seen is None)

    def after_polls(self, cluster: str, count: int = 2) -> Page:
        """The page when so many further polls of the cluster have begun and ended."""
        name = "mq_exporter_collector_last_success_timestamp_seconds"

        def last(page: Page) -> float:
            return max(page.by(name, "collector", cluster=cluster).values(), default=0.0)

        for _ in range(count):
            before = time.time()
            self.until(f"a poll of {cluster}", last, lambda seen, before=before: seen > before)  # type: ignore[misc]
        return self.page()


def free_port() -> int:
    """A port that is free now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def write_config(path: Path, port: int, config: dict[str, Any]) -> None:
    """A configuration file (JSON is YAML) with a listen address."""
    web = {"listen_address": f"127.0.0.1:{port}", "enable_lifecycle": True}
    path.write_text(json.dumps({"web": web, **config}))


def start_exporter(folder: Path, config: dict[str, Any], mutation: str | None = None) -> Exporter:
    """Start a process with this configuration, or one that is broken on purpose, and wait until it serves."""
    port = free_port()
    name = mutation or "exporter"
    file, log = folder / f"{name}.json", folder / f"{name}.log"
    write_config(file, port, config)
    module = ["exporter"] if mutation is None else ["tests.broker.exporter.mutated", mutation, "--"]
    command = [sys.executable, "-m", *module, "--config", str(file)]
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, cwd=ROOT)
    interval = max(section["interval"] for part in ("kafka", "rabbitmq") for section in config.get(part, ()))
    exporter = Exporter(process, f"http://127.0.0.1:{port}", log, file, interval)

    def lack() -> str | None:
        assert process.poll() is None, f"the exporter ended: {tail(log, 20)}"
        try:
            exporter.get("/-/healthy")
        except requests.ConnectionError:
            return "port not open"
        return None

    wait_for("the exporter serves", lack, PATIENCE)
    return exporter


def stop_exporter(exporter: Exporter) -> None:
    """End it as a service manager would; a process that does not end is a failure."""
    if exporter.process.poll() is None:
        exporter.process.send_signal(signal.SIGTERM)
    try:
        exporter.process.wait(60)
    except subprocess.TimeoutExpired:
        exporter.process.kill()
        raise


@contextmanager
def running(folder: Path, config: dict[str, Any], mutation: str | None = None) -> Iterator[Exporter]:
    """An exporter while the block runs, ready at its beginning."""
    started = start_exporter(folder, config, mutation)
    try:
        await_ready(started)
        yield started
    finally:
        stop_exporter(started)


def await_ready(exporter: Exporter) -> None:
    """Wait until the first page is complete."""
    status: list[int] = []

    def lack() -> str | None:
        status[:] = [exporter.get("/-/ready").status_code]
        return None if status == [200] else f"status {status}"

    wait_for("the exporter is ready", lack, PATIENCE)


def objects_when(mutation: str, folder: Path, config: dict[str, Any], check: Callable[..., None], *facts: Any) -> None:
    """Start a process with the mutation in force; the check must object to it. One that does not proves nothing."""
    with running(folder, config, mutation) as broken, pytest.raises(AssertionError):
        check(broken, *facts)


def kafka_of(lab: Lab, **more: Any) -> dict[str, Any]:
    """A section for the lab's Kafka, with short paces."""
    paces = {"interval": INTERVAL, "slow_interval": 2 * INTERVAL, "timeout": TIMEOUT}
    return {"cluster": "lab-kafka", **lab.kafka.watched(), **paces, **more}


def rabbitmq_of(lab: Lab, **more: Any) -> dict[str, Any]:
    """A section for the lab's RabbitMQ, with short paces."""
    paces = {"interval": INTERVAL, "slow_interval": 2 * INTERVAL, "timeout": TIMEOUT}
    return {"cluster": "lab-rabbitmq", **lab.rabbitmq.watched(), **paces, **more}


def cli_of(lab: Lab) -> dict[str, Any]:
    """Settings with which the exporter may run rabbitmqctl."""
    return {"cli": lab.rabbitmq.cli, "cli_env": lab.rabbitmq.cli_environment}


def only(*names: str) -> dict[str, Any]:
    """A filter for these names (patterns)."""
    return {"allow": list(names)}
