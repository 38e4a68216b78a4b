"""Polls each cluster in the background and publishes its page; a scrape only takes what is there."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from apscheduler.events import EVENT_JOB_MAX_INSTANCES, JobSubmissionEvent
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler

from exporter import health, page
from exporter.budget import Unit, fit, only
from exporter.clients.reader import Reader
from exporter.config.model import Config, Kafka, RabbitMQ
from exporter.health import Health
from exporter.metrics import registry
from exporter.metrics.family import Measured
from exporter.model.common import STALE_AFTER, ClusterSnapshot
from exporter.page import ClusterPage, Format, Joined
from exporter.state import StateDir

log = logging.getLogger(__name__)
Section = Kafka | RabbitMQ
SAVE_EVERY = 60.0  # seconds between two writes of a cluster's history


@dataclass(frozen=True, slots=True)
class Published:
    """The outcome of one poll. `kept`: what the budget of series chose; None when nothing had to go."""

    snapshot: ClusterSnapshot
    page: ClusterPage
    kept: frozenset[Unit] | None

    def measured(self) -> Measured:
        """Families -> samples, those of the page; made anew, since kept they would need as much memory as the page."""
        measured, _ = registry.measure(self.snapshot)
        return measured if self.kept is None else only(measured, self.kept)


class ClusterPoll:
    """One cluster: its reader, its counters, and what its last poll published."""

    def __init__(self, config: Section, reader: Reader, state: StateDir, observe: Callable[[ClusterSnapshot], None]):
        self.config = config
        self.reader = reader
        self.health = Health()
        self.published: Published | None = None
        self.lock = threading.Lock()  # held for a whole poll: a reader is used by one thread at a time
        self.closed = False
        self._state = state
        self._saved_at = time.monotonic()
        self._observe = observe
        self._renderer = page.Renderer(config.cluster)
        self._kept: frozenset[Unit] = frozenset()

    def poll(self) -> None:
        """Read, measure, render and publish. Whatever goes wrong stays in this cluster."""
        with self.lock:
            if self.closed:
                return
            began = time.monotonic()
            try:
                self._publish(began)
            except Exception:  # a fault of ours must cost this cluster's freshness, not the scheduler
                log.exception("%s: the poll failed; this is a fault of the exporter", self.config.cluster)
                self.health.count_fault()
            self.health.poll_seconds = time.monotonic() - began

    def _publish(self, began: float) -> None:
        snapshot = self.reader.poll()
        measured, faults = registry.measure(snapshot)
        if faults:
            snapshot = replace(snapshot, runs=(*snapshot.runs, registry.fault_run(faults, snapshot)))
        budgeted = fit(measured, self.config.max_series, self._kept)
        self._kept = budgeted.kept
        rendered = self._renderer.render(budgeted.measured, began + STALE_AFTER * self.config.interval)
        self.health.observe(snapshot)
        self.health.dropped = budgeted.dropped
        self.published = Published(snapshot, rendered, budgeted.kept if budgeted.dropped else None)
        self._observe(snapshot)
        if time.monotonic() - self._saved_at > SAVE_EVERY:
            self._save()

    def _save(self) -> None:
        self._saved_at = time.monotonic()
        self._state.save(self.config.cluster, self.reader.state())

    def close(self) -> None:
        """Wait for a running poll, keep the history, close the connections. May be called twice."""
        with self.lock:
            if not self.closed:
                self.closed = True
                self._save()
                self.reader.close()

    def fresh(self, now: float) -> Published | None:
        """What was published last, unless it is older than three intervals."""
        published = self.published
        return published if published is not None and now < published.page.expires else None


class Poller:
    """All clusters of a configuration. `readers` makes the reader of a section and may raise ValueError."""

    def __init__(
        self,
        config: Config,
        readers: Callable[[Section], Reader],
        observe: Callable[[ClusterSnapshot], None] = lambda _: None,
    ) -> None:
        self.reload_succeeded = True
        self._readers = readers
        self._observe = observe
        self._headers = page.headers_of([family for subject in registry.subjects() for family in subject.families])
        self._joined: dict[Format, tuple[tuple[ClusterPage, ...], Joined]] = {}
        self._join_lock = threading.Lock()
        self._scheduler = BackgroundScheduler(executors={"default": ThreadPoolExecutor(64)}, timezone=UTC)
        self._scheduler.add_listener(self._count_overrun, EVENT_JOB_MAX_INSTANCES)
        self._state = StateDir(config.state_dir)
        self.config = config
        self.clusters = self._build(config, {})

    def _build(self, config: Config, running: dict[str, ClusterPoll]) -> dict[str, ClusterPoll]:
        clusters: dict[str, ClusterPoll] = {}
        made: list[ClusterPoll] = []
        state = StateDir(config.state_dir)
        try:
            sections: list[Section] = [*config.kafka, *config.rabbitmq]
            for section in sections:
                same = running.get(section.cluster)
                if same is None or same.config != section:
                    same = ClusterPoll(section, self._readers(section), state, self._observe)
                    same.reader.restore(state.load(section.cluster))
                    made.append(same)
                clusters[section.cluster] = same
        except Exception:
            for cluster in made:
                cluster.close()
            raise
        return clusters

    def start(self) -> None:
        """Begin to poll, each cluster at once and then at its own interval."""
        for cluster in self.clusters.values():
            self._schedule(cluster)
        self._scheduler.start()

    def _schedule(self, cluster: ClusterPoll) -> None:
        self._scheduler.add_job(
            self._poll, "interval", args=[cluster], id=cluster.config.cluster, seconds=cluster.config.interval,
            next_run_time=datetime.now(UTC), max_instances=1, coalesce=True, misfire_grace_time=None,
            replace_existing=True,
        )  # fmt: skip

    def _poll(self, cluster: ClusterPoll) -> None:
        cluster.poll()
        for form in Format:  # join here, so that no scrape has to
            self._join(form)

    def _count_overrun(self, event: JobSubmissionEvent) -> None:
        if (cluster := self.clusters.get(event.job_id)) is not None:
            cluster.health.polls_skipped += 1

    def poll_once(self) -> None:
        """Poll every cluster now, side by side, and return when all have finished."""
        threads = [threading.Thread(target=self._poll, args=[cluster]) for cluster in self.clusters.values()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def stop(self) -> None:
        """Stop polling and close all readers; waits for polls that are running."""
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)
        for cluster in self.clusters.values():
            cluster.close()

    def apply(self, config: Config) -> None:
        """Take over a new configuration whole, or raise and stay as before. Unchanged clusters go on undisturbed."""
        try:
            clusters = self._build(config, self.clusters)
        except Exception:
            self.reload_succeeded = False
            raise
        before, self.clusters, self.config = self.clusters, clusters, config
        for name, cluster in before.items():
            if clusters.get(name) is not cluster:
                if self._scheduler.running and name not in clusters:
                    self._scheduler.remove_job(name)
                threading.Thread(target=cluster.close, daemon=True).start()  # it may be in the middle of a poll
        if self._scheduler.running:
            for name, cluster in clusters.items():
                if before.get(name) is not cluster:
                    self._schedule(cluster)
        self.reload_succeeded = True

    def reload_failed(self) -> None:
        """Note that a configuration was asked for that could not even be read."""
        self.reload_succeeded = False

    def ready(self) -> bool:
        """Whether every cluster has been polled at least once, so that the page is complete."""
        return all(cluster.published is not None for cluster in self.clusters.values())

    def snapshots(self) -> dict[str, ClusterSnapshot]:
        """Cluster -> its snapshot, where that is fresh."""
        return {name: published.snapshot for name, published in self._fresh().items()}

    def measured(self) -> dict[str, Measured]:
        """Cluster -> families -> samples, where fresh; after the series budget."""
        return {name: published.measured() for name, published in self._fresh().items()}

    def _fresh(self) -> dict[str, Published]:
        now = time.monotonic()
        fresh = {name: cluster.fresh(now) for name, cluster in self.clusters.items()}
        return {name: published for name, published in fresh.items() if published is not None}

    def page(self, openmetrics: bool = False, compressed: bool = False) -> list[bytes]:
        """The page as chunks. Touches no broker and waits for none; data older than three intervals is left out."""
        form = Format.OPENMETRICS if openmetrics else Format.TEXT
        tail = self._health_page(form) + (b"# EOF\n" if openmetrics else b"")
        return page.finish(self._join(form), tail, compressed)

    def _join(self, form: Format) -> Joined:
        pages = tuple(published.page for published in self._fresh().values())
        known = self._joined.get(form)
        if known is not None and known[0] == pages:
            return known[1]
        with self._join_lock:
            joined = page.join(pages, form, self._headers)
            self._joined[form] = (pages, joined)
        return joined

    def _health_page(self, form: Format) -> bytes:
        parts = {"": health.measure_process(self.reload_succeeded)}
        fresh = self._fresh()
        for name, cluster in self.clusters.items():
            published = cluster.published
            parts[name] = health.measure_cluster(
                cluster.health,
                None if published is None else published.snapshot,
                name in fresh,
                0 if published is None else published.page.series,
            )
        return page.render_small(parts, form)
