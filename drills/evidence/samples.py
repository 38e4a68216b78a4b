"""`metrics.csv`: what the exporter's page said during a run, raw, every two seconds."""

from __future__ import annotations

import csv
import json
import math
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from types import TracebackType
from typing import IO

import requests
from prometheus_client.parser import text_string_to_metric_families

from drills.ledger import clock

EVERY = 2.0  # seconds
PATIENCE = 5.0  # seconds for one read
MOST_BYTES = 64 * 1024 * 1024  # of the file; past it the sampler stops and says so in the file's last row
SCRAPED = "mq_drill_scrape_success"
STOPPED = "mq_drill_samples_stopped"
HEADER = ("wall", "monotonic", "name", "labels", "value")
HEALTH = ("mq_exporter_", "mq_rabbitmq_node_", "mq_kafka_broker_", "mq_kafka_controller_", "mq_disk_", "mq_clock_")
SCOPED = ("vhost", "topic", "group", "queue", "dlq")
"""Labels by which a series belongs to a namespace."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One value of one series at one moment. `labels` is JSON with sorted keys."""

    wall: float
    monotonic: float
    name: str
    labels: str
    value: float

    def scope(self) -> tuple[str, ...]:
        """The values of the labels by which it belongs to a namespace."""
        labels = json.loads(self.labels)
        return tuple(str(labels[name]) for name in SCOPED if name in labels)


class Sampler:
    """Reads the page in a thread of its own until the block ends. A read that fails is a row that says so."""

    def __init__(self, url: str, path: Path, namespace: str) -> None:
        """`namespace`: the beginning of the names of the run's vhosts, topics and groups."""
        self._url = url
        self._path = path
        self._namespace = namespace
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)
        self.error: str | None = None  # why it stopped early: the disk is full, the file is

    def __enter__(self) -> Sampler:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._ended.set()
        self._thread.join(PATIENCE * 2)

    def _run(self) -> None:
        try:
            with self._path.open("a", newline="") as out, requests.Session() as session:
                if out.tell() == 0:
                    csv.writer(out).writerow(HEADER)
                self._sample_until_ended(out, session)
        except OSError as error:
            self.error = f"{self._path.name}: {error}"  # a full disk ends the samples, never the run

    def _sample_until_ended(self, out: IO[str], session: requests.Session) -> None:
        due = time.monotonic()
        while not self._ended.wait(max(0.0, due - time.monotonic())):
            due = max(due + EVERY, time.monotonic())
            out.write(self._tick(session))
            out.flush()
            if out.tell() > MOST_BYTES:
                self.error = f"{self._path.name} is full at {MOST_BYTES} bytes"
                out.write(rows([Sample(clock.now(), time.monotonic(), STOPPED, "{}", 1.0)]))
                return

    def _tick(self, session: requests.Session) -> str:
        wall, monotonic = clock.now(), time.monotonic()
        try:
            answer = session.get(self._url, timeout=PATIENCE)
            answer.raise_for_status()
            found = list(chosen(answer.text, self._namespace, wall, monotonic))
        except (requests.RequestException, ValueError):
            return rows([Sample(wall, monotonic, SCRAPED, "{}", 0.0)])
        return rows([Sample(wall, monotonic, SCRAPED, "{}", 1.0), *found])


def chosen(page: str, namespace: str, wall: float, monotonic: float) -> Iterator[Sample]:
    """The samples that are kept: those of the namespace, and the health of brokers, nodes and the exporter itself.

    Raises ValueError for what is no page.
    """
    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            mine = any(sample.labels.get(label, "").startswith(namespace) for label in SCOPED)
            if mine or sample.name.startswith(HEALTH):
                labels = json.dumps(sample.labels, sort_keys=True, ensure_ascii=False)
                yield Sample(wall, monotonic, sample.name, labels, sample.value)


def rows(samples: Iterable[Sample]) -> str:
    """Samples as lines of the file."""
    out = StringIO()
    writer = csv.writer(out)
    for one in samples:
        writer.writerow((f"{one.wall:.3f}", f"{one.monotonic:.3f}", one.name, one.labels, repr(one.value)))
    return out.getvalue()


def read(path: Path) -> Iterator[Sample]:
    """The samples of a file; none when there is no file. A row that is not whole (a torn last one) is left out."""
    if not path.exists():
        return
    with path.open(newline="", errors="replace") as lines:
        for row in csv.reader(lines):
            if (sample := _sample(row)) is not None:
                yield sample


def _sample(row: list[str]) -> Sample | None:
    try:
        wall, monotonic, name, labels, value = row
        if not isinstance(json.loads(labels), dict) or not math.isfinite(float(value)):
            return None
        return Sample(float(wall), float(monotonic), name, labels, float(value))
    except ValueError:
        return None
