"""The log: text for a terminal or JSON lines, and one line per change of state instead of one per poll."""

from __future__ import annotations

import json
import logging
import re
import sys
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TextIO

from exporter.model.common import ClusterSnapshot, CollectorRun, Kind, Problem

log = logging.getLogger(__name__)
TOLD_ONE_BY_ONE = 5  # of one kind in one poll; a dead broker with 10,000 groups must not fill the disk
QUIET = ("apscheduler", "kafka", "urllib3")  # they log each poll; what matters of it is in the collector runs
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def setup(level: str, form: str, stream: TextIO | None = None) -> None:
    """Log to this stream (standard error), replacing what was set up before. `form` is text or json."""
    handler = logging.StreamHandler(sys.stderr if stream is None else stream)
    handler.setFormatter(JsonLines() if form == "json" else TerminalText())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.ERROR)


def one_line(text: str) -> str:
    """The text with control characters shown as escapes: names come from strangers, and a log line is one line."""
    return CONTROL.sub(lambda match: repr(match[0])[1:-1], text)


class TerminalText(logging.Formatter):
    """`12:03:04 warning kafka/orders: group payments: ...`, in local time; tracebacks are indented below."""

    def __init__(self) -> None:
        super().__init__(datefmt="%H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        """One line, and the traceback when there is one."""
        subject = getattr(record, "subject", "")
        text = one_line(f"{subject}: {record.getMessage()}" if subject else record.getMessage())
        line = f"{self.formatTime(record, self.datefmt)} {record.levelname.lower():<7} {text}"
        if record.exc_info:
            line += "\n" + "\n".join(
                f"    {one_line(row)}" for row in self.formatException(record.exc_info).split("\n")
            )
        return line


class JsonLines(logging.Formatter):
    """One JSON object a line: time (UTC), level, logger, message, and the fields that the caller gave."""

    def format(self, record: logging.LogRecord) -> str:
        """One line of JSON."""
        entry: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            **getattr(record, "fields", {}),
            "message": record.getMessage(),
        }
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry, default=str)


def tell(level: int, subject: str, message: str, **fields: object) -> None:
    """Log a message about something; the subject leads the text, and is in `fields` for JSON."""
    log.log(level, "%s", message, extra={"subject": subject, "fields": fields})


@dataclass(frozen=True, slots=True)
class Known:
    """A problem that has been told, and since when it lasts (unix seconds)."""

    problem: Problem
    since: float


class StateLog:
    """Takes the snapshots of all clusters, poll after poll, and logs what appeared, changed or went away."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], dict[str, Known]] = {}  # (cluster, collector) -> item -> problem
        self._fresh: dict[str, bool] = {}
        self._stale: set[str] = set()
        self._lock = threading.Lock()

    def observe(self, snapshot: ClusterSnapshot) -> None:
        """Log how this poll differs from the cluster's last one. Collectors without a run are left as they were."""
        subject = f"{snapshot.system}/{snapshot.cluster}"
        with self._lock:
            first = snapshot.cluster not in {cluster for cluster, _ in self._known}
            for run in snapshot.runs:
                self._observe_run(subject, snapshot, run)
        if first:
            failing = sorted(run.name for run in snapshot.runs if not run.success)
            outcome = f"failing: {', '.join(failing)}" if failing else "everything was read"
            tell(logging.INFO, subject, f"first poll done; {outcome}", cluster=snapshot.cluster, failing=failing)

    def _observe_run(self, subject: str, snapshot: ClusterSnapshot, run: CollectorRun) -> None:
        before = self._known.get((snapshot.cluster, run.name), {})
        now = {
            problem.item: Known(problem, before[problem.item].since if problem.item in before else snapshot.taken_at)
            for problem in run.problems
        }
        self._known[snapshot.cluster, run.name] = now
        new = [
            known.problem
            for item, known in now.items()
            if item not in before or _differs(before[item].problem, known.problem)
        ]
        gone = [known for item, known in before.items() if item not in now]
        self._tell_new(subject, snapshot.cluster, run.name, new)
        self._tell_gone(subject, snapshot, run.name, gone)

    def _tell_new(self, subject: str, cluster: str, collector: str, problems: Iterable[Problem]) -> None:
        for kind in Kind:
            of_kind = [problem for problem in problems if problem.kind is kind]
            level = logging.INFO if kind is Kind.UNSUPPORTED else logging.WARNING
            fields = {"cluster": cluster, "collector": collector, "kind": kind.value}
            for problem in of_kind[:TOLD_ONE_BY_ONE]:
                tell(level, subject, f"{_named(problem)} ({collector}, {kind})", **fields, item=problem.item)
            if more := len(of_kind[TOLD_ONE_BY_ONE:]):
                tell(level, subject, f"{more} more like this ({collector}, {kind})", **fields, more=more)

    def _tell_gone(self, subject: str, snapshot: ClusterSnapshot, collector: str, gone: list[Known]) -> None:
        fields = {"cluster": snapshot.cluster, "collector": collector, "recovered": True}
        for known in gone[:TOLD_ONE_BY_ONE]:
            lasted = round(snapshot.taken_at - known.since)
            text = f"recovered: {known.problem.item or collector}, after {lasted} s ({collector}, {known.problem.kind})"
            tell(logging.INFO, subject, text, **fields, item=known.problem.item, lasted_seconds=lasted)
        if more := len(gone[TOLD_ONE_BY_ONE:]):
            tell(logging.INFO, subject, f"recovered: {more} more ({collector})", **fields, more=more)

    def observe_freshness(self, fresh: Mapping[str, bool]) -> None:
        """Log which clusters' data has become older than three intervals, and which is fresh again."""
        with self._lock:
            before, self._fresh = self._fresh, dict(fresh)
        for cluster, is_fresh in fresh.items():
            if before.get(cluster) and not is_fresh:
                self._stale.add(cluster)
                text = "no fresh data for three intervals: its series are withheld until a poll ends"
                tell(logging.WARNING, cluster, text, cluster=cluster, fresh=False)
            elif is_fresh and cluster in self._stale:
                self._stale.discard(cluster)
                tell(logging.INFO, cluster, "recovered: has fresh data", cluster=cluster, fresh=True)

    def forget(self, clusters: Iterable[str]) -> None:
        """Drop what is known of clusters that a reload removed."""
        gone = set(clusters)
        with self._lock:
            self._known = {key: known for key, known in self._known.items() if key[0] not in gone}
            self._fresh = {name: fresh for name, fresh in self._fresh.items() if name not in gone}
            self._stale -= gone


def _named(problem: Problem) -> str:
    return problem.detail if problem.detail.startswith(problem.item) else f"{problem.item}: {problem.detail}"


def _differs(one: Problem, other: Problem) -> bool:
    """Whether the other problem is worth a line of its own: numbers alone (offsets, waits) are not."""
    return one.kind is not other.kind or re.sub(r"\d+", "", one.detail) != re.sub(r"\d+", "", other.detail)
