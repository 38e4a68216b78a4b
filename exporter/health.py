"""What the exporter says about itself: rendered at each scrape, so that it is never older than the scrape."""

from __future__ import annotations

import platform
from dataclasses import dataclass, field

from exporter import VERSION
from exporter.metrics.family import Family, Measured
from exporter.model.common import ClusterSnapshot, Kind

PER_COLLECTOR = ("collector",)
SUCCESS = Family(
    "mq_exporter_collector_success",
    "gauge",
    "1 when the collector's last run read everything it should have. 0 also when that run is older than three "
    "intervals, and its data therefore withheld.",
    PER_COLLECTOR,
)
DURATION = Family(
    "mq_exporter_collector_duration_seconds", "gauge", "How long the collector's last run took.", PER_COLLECTOR
)
INTERVAL = Family(
    "mq_exporter_collector_interval_seconds", "gauge", "How often the collector is meant to run.", PER_COLLECTOR
)
LAST_SUCCESS = Family(
    "mq_exporter_collector_last_success_timestamp_seconds",
    "gauge",
    "When the last run that read everything began. Absent until there was one.",
    PER_COLLECTOR,
)
ERRORS = Family(
    "mq_exporter_collector_errors_total",
    "counter",
    "Things that could not be read, by reason; one item (group, partition, queue, node) that fails counts once a run. "
    "unsupported: the broker's version or settings don't offer it; that alone is no failure.",
    ("collector", "kind"),
)
ENDPOINT = Family(
    "mq_exporter_endpoint_up",
    "gauge",
    "1 when this address answered the exporter at the last poll. Reachability from here, not membership: see "
    "mq_kafka_broker_up and mq_rabbitmq_node_up.",
    ("endpoint",),
)
SKIPPED = Family(
    "mq_exporter_items_skipped",
    "gauge",
    "Items whose series are withheld at the moment, by reason.",
    ("collector", "reason"),
)
SERIES = Family("mq_exporter_series", "gauge", "Series on the page for this cluster; 0 when its data is withheld.")
DROPPED = Family(
    "mq_exporter_series_dropped", "gauge", "Series left out because of `max_series`: the lowest lags and depths."
)
CONTRADICTIONS = Family(
    "mq_exporter_contradictions_total",
    "counter",
    "Answers that contradict each other (a log start above its end, counters of two leaders added up). "
    "They are shown as they are or withheld, never clamped.",
    ("contradiction",),
)
OVERRUN = Family(
    "mq_exporter_polls_skipped_total", "counter", "Polls left out because the one before was still running."
)
POLL_DURATION = Family(
    "mq_exporter_poll_duration_seconds", "gauge", "From the first request of the last poll until its page was ready."
)
RELOAD = Family(
    "mq_exporter_config_reload_success", "gauge", "1 when the configuration in force is the one last asked for."
)
BUILD = Family("mq_exporter_build_info", "info", "Version of the exporter and of Python.", ("version", "python"))
PER_CLUSTER = (
    SUCCESS, DURATION, INTERVAL, LAST_SUCCESS, ERRORS, ENDPOINT, SKIPPED,
    SERIES, DROPPED, CONTRADICTIONS, OVERRUN, POLL_DURATION,
)  # fmt: skip
GLOBAL = (RELOAD, BUILD)
FAMILIES = (*PER_CLUSTER, *GLOBAL)


@dataclass(slots=True)
class Health:
    """What is counted about one cluster from poll to poll. Written by its poll alone."""

    errors: dict[tuple[str, str], int] = field(default_factory=dict)
    last_success: dict[str, float] = field(default_factory=dict)
    dropped: int = 0
    poll_seconds: float | None = None
    polls_skipped: int = 0

    def observe(self, snapshot: ClusterSnapshot) -> None:
        """Count the problems of a poll; each kind of each collector is there from its first run on."""
        for run in snapshot.runs:
            for kind in Kind:
                self.errors.setdefault((run.name, kind.value), 0)
            for problem in run.problems:
                self.errors[run.name, problem.kind.value] += 1
            if run.success:
                self.last_success[run.name] = run.started_at

    def count_fault(self) -> None:
        """Count a poll that ended in a fault of the exporter itself."""
        at = ("poll", Kind.PROTOCOL.value)
        self.errors[at] = self.errors.get(at, 0) + 1


def measure_cluster(health: Health, snapshot: ClusterSnapshot | None, fresh: bool, series: int) -> Measured:
    """The health of one cluster at this moment; `snapshot` is None until its first poll has ended."""
    measured: Measured = {
        SERIES: {(): series if fresh else 0},
        OVERRUN: {(): health.polls_skipped},
        ERRORS: {at: count for at, count in health.errors.items()},  # noqa: C416 (a copy of another type)
        LAST_SUCCESS: {(name,): when for name, when in health.last_success.items()},
    }
    if health.poll_seconds is not None:
        measured[POLL_DURATION] = {(): health.poll_seconds}
    if snapshot is None:
        return measured
    measured[SUCCESS] = {(run.name,): int(run.success and fresh) for run in snapshot.runs}
    measured[DURATION] = {(run.name,): run.duration_seconds for run in snapshot.runs}
    measured[INTERVAL] = {(run.name,): run.interval_seconds for run in snapshot.runs}
    measured[ENDPOINT] = {(endpoint,): int(up and fresh) for endpoint, up in snapshot.endpoints.items()}
    measured[SKIPPED] = {(run.name, reason): count for run in snapshot.runs for reason, count in run.skipped.items()}
    measured[CONTRADICTIONS] = {(what,): count for what, count in snapshot.contradictions.items()}
    measured[DROPPED] = {(): health.dropped}
    return measured


def measure_process(reloaded: bool) -> Measured:
    """What is true of the whole process, without a `cluster` label."""
    return {RELOAD: {(): int(reloaded)}, BUILD: {(VERSION, platform.python_version()): 1}}
