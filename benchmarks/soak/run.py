"""The soak itself: a lab, an exporter, workloads, restarts, and a look at everything every two seconds."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.soak import checks
from benchmarks.soak.page import Scrape, scrape
from benchmarks.soak.processes import Worker, end, log_of, start_exporter
from benchmarks.soak.record import Account, Row
from benchmarks.soak.restarts import EVERY, Restarts
from benchmarks.soak.truth import Key, Truth
from drills.lab import Lab, Report
from drills.lab.processes import Process

SCRAPE_EVERY = 2.0  # seconds
PROMETHEUS_EVERY = 10  # seconds between its scrapes, and its patience
KNOWN_AFTER = 5.0  # seconds until the reader has surely read again
GIVEN_UP_AFTER = 90.0  # seconds after which a value whose truth is not known stays unjudged
FORGET_EVERY = 60.0
SYSTEMS = ("kafka", "rabbitmq", "prometheus")
CLUSTERS = ("kafka", "rabbitmq")


@dataclass(slots=True)
class Pending:
    """A page some of whose values could not be judged yet."""

    page: Scrape
    keys: set[Key]
    looked_at: bool = False


class Soak:
    """One run on a lab that is up."""

    def __init__(self, lab: Lab, minutes: float, broken: str, report: Report) -> None:
        self.lab, self.seconds, self.report = lab, minutes * 60, report
        self.every = min(EVERY, max(self.seconds / 3, 60.0))
        self.account = Account()
        self.truth = Truth()
        self.pending: deque[Pending] = deque()
        self.exporter, self.port = start_exporter(lab, broken)
        lab.prometheus.scrape("mq-exporter", [f"127.0.0.1:{self.port}"], f"{PROMETHEUS_EVERY}s")
        amqp = ",".join(str(lab.ports.amqp(node)) for node in (1, 2, 3))
        management = ",".join(str(lab.ports.management(node)) for node in (1, 2, 3))
        self.workers = [
            Worker(lab, "kafka_work", lab.kafka.bootstrap, generations=True),
            Worker(lab, "rabbitmq_work", amqp, generations=True),
            Worker(lab, "reader", f"{lab.kafka.bootstrap},{management}", generations=False),
        ]
        self.restarts = Restarts(lab, self.every)
        self.began = time.time()

    def run(self) -> Account:
        """To the end, or until the exporter ends."""
        self.restarts.start()
        pause, number, due = threading.Event(), 0, time.monotonic()
        forget_at = due + FORGET_EVERY
        while time.time() - self.began < self.seconds and self.exporter.alive():
            self._look(number)
            number += 1
            if time.monotonic() > forget_at:
                forget_at += FORGET_EVERY
                self.truth.forget(time.time())
                self._tell()
            due = max(due + SCRAPE_EVERY, time.monotonic())
            pause.wait(due - time.monotonic())
        self.restarts.finish()
        self._judge(time.time(), last=True)
        self._end()
        return self.account

    def close(self) -> None:
        """End every process of the soak."""
        for worker in self.workers:
            worker.end()
        end(self.exporter, "the exporter")

    def planned_restarts(self) -> int:
        """How many restarts must have begun by the end: on a busy machine one takes long, and the next is late."""
        return int(0.75 * (self.seconds - self.every / 2) / self.every)

    def _look(self, number: int) -> None:
        page = scrape(self.port, number)
        for worker in self.workers:
            worker.keep_alive()
            for event in worker.lines.fresh():
                self.truth.feed(event)
        if page.failure:
            self.account.failed.append(f"{self._at(page)}: {page.failure}")
        else:
            self._wrong(page, checks.consistent(page) + checks.lingering(page, self.truth.lives))
            self.pending.append(Pending(page, set(checks.values(page))))
        self._judge(time.time(), last=False)
        self.account.rows.append(self._row(page))

    def _judge_gaps(self, page: Scrape) -> None:
        """What is not on the page, once it is known what the weather was."""
        troubles, silent = self.restarts.troubles, checks.incomplete(page)
        for system in CLUSTERS:
            if page.began - self.began > checks.APPEARS and checks.calm(page, system, self.truth, troubles):
                self.account.calm += 1
                self.account.incomplete += system in silent
        self._wrong(page, checks.missing(page, self.truth, troubles))

    def _judge(self, now: float, last: bool) -> None:
        """Values whose truth may be known by now; those of pages that are too old are given up."""
        for waiting in list(self.pending):
            if now - waiting.page.ended < KNOWN_AFTER and not last:
                break
            if not waiting.looked_at:
                waiting.looked_at = True
                self._judge_gaps(waiting.page)
            judged = checks.judge(waiting.page, waiting.keys, self.truth)
            self.account.right += judged.right
            self.account.young += judged.young
            self._wrong(waiting.page, judged.wrong)
            waiting.keys = judged.open
            if not waiting.keys or last or now - waiting.page.ended > GIVEN_UP_AFTER:
                self.account.unjudged += len(waiting.keys)
                self.pending.remove(waiting)

    def _wrong(self, page: Scrape, found: list[str]) -> None:
        for words in found:
            self.account.wrong.append(f"{self._at(page)}: {words}")
            if len(self.account.wrong) <= 40:
                self.report.say(f"WRONG {self.account.wrong[-1]}")

    def _at(self, page: Scrape) -> str:
        return f"second {page.began - self.began:.0f}"

    def _row(self, page: Scrape) -> Row:
        refresh = page.by("mq_exporter_poll_duration_seconds", "cluster")
        kafka, rabbitmq = (refresh.get((f"soak-{cluster}",)) for cluster in CLUSTERS)
        files, threads = handles(self.exporter)
        return Row(
            round(page.began - self.began, 2),
            round((self.exporter.resident_bytes() or 0) / 2**20, 2),
            page.series(),
            page.size,
            round(1000 * (page.ended - page.began), 2),
            kafka,
            rabbitmq,
            files,
            threads,
            len(self.account.wrong),
            len(self.account.failed),
            round(os.getloadavg()[0], 2),
        )

    def _tell(self) -> None:
        account, row = self.account, self.account.rows[-1]
        self.report.say(
            f"{row.second / 60:.0f} min: {row.rss_mb:.1f} MB, {row.series} series, scrape {row.scrape_ms:.0f} ms, "
            f"{account.right} values right, {len(account.wrong)} wrong, {len(account.failed)} scrapes failed, "
            f"{len(self.restarts.troubles)} restarts, load {row.load:.1f}"
        )

    def _end(self) -> None:
        account = self.account
        account.troubles = self.restarts.troubles
        account.workload = {what: self.truth.seen.get(what, 0) for what in ("born", "gone", "read", "floor")}
        account.notes = {
            "began": self.began,
            "interval_seconds": checks.INTERVAL,
            "scrape_every_seconds": SCRAPE_EVERY,
            "workers_started_again": {worker.name: worker.starts - 1 for worker in self.workers},
            "cpus": os.cpu_count(),
            "exporter_cpu_seconds": cpu_seconds(self.exporter),
        }
        account.faults += self._faults()

    def _faults(self) -> Iterator[str]:
        if not self.exporter.alive():
            yield "the exporter's process ended"
        if self.restarts.failure:
            yield f"a restart failed: {self.restarts.failure.splitlines()[0]}"
        log = log_of(self.lab, "exporter").read_text(errors="replace")
        if traces := log.count("Traceback"):
            yield f"{traces} tracebacks in the exporter's log"
        yield from self._prometheus()

    def _prometheus(self) -> Iterator[str]:
        """Prometheus has scraped as well: each of its scrapes must have succeeded too."""
        window = f"{max(int(time.time() - self.began) - 5, 10)}s"
        ups = self.lab.prometheus.query(f'min_over_time(up{{job="mq-exporter"}}[{window}])')
        counted = self.lab.prometheus.query(f'count_over_time(up{{job="mq-exporter"}}[{window}])')
        if [row["value"][1] for row in ups] != ["1"]:
            yield f"Prometheus had a scrape that failed: {ups}"
        self.account.notes["prometheus_scrapes"] = int(counted[0]["value"][1]) if counted else 0


def handles(process: Process) -> tuple[int, int]:
    """Open files and threads; 0 when it has ended."""
    folder = Path("/proc") / str(process.pid)
    try:
        return len(os.listdir(folder / "fd")), len(os.listdir(folder / "task"))  # noqa: PTH208 - far cheaper
    except OSError:
        return 0, 0


def cpu_seconds(process: Process) -> float:
    """User and system time so far; 0 when it has ended."""
    try:
        stat = (Path("/proc") / str(process.pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")
