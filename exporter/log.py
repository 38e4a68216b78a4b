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
from typing import Any, TextIO, TypeAlias

from exporter.model.common import ClusterSnapshot, Kind, Problem

log = logging.getLogger(__name__)
TOLD_ONE_BY_ONE = 5  # of one kind in one poll; a dead broker with 10,000 groups must not fill the disk
QUIET = ("apscheduler", "kafka", "urllib3")  # they log each poll; what matters of it is in the collector runs
MOST_WORDS = 8  # ways in which one problem is told while it lasts; two that take turns are two lines, not one a poll
NUMBER = re.compile(r"\d+")
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
    """A problem that has been told, since when it lasts (unix seconds), and in which words it was told."""

    problem: Problem
    since: float
    told: frozenset[tuple[Kind, str]] = frozenset()


Key: TypeAlias = tuple[str, str]  # collector, item


class StateLog:
    """Takes the snapshots of all clusters, poll after poll, and logs what appeared, changed or went away."""

    def __init__(self) -> None:
        self._known: dict[str, dict[Key, Known]] = {}  # by cluster
        self._fresh: dict[str, bool] = {}
        self._stale: set[str] = set()
        self._lock = threading.Lock()

    def observe(self, snapshot: ClusterSnapshot) -> None:
        """Log how this poll differs from the cluster's last one. Collectors without a run are left as they were."""
        subject = f"{snapshot.system}/{snapshot.cluster}"
        with self._lock:
            first = snapshot.cluster not in self._known
            before = self._known.get(snapshot.cluster, {})
            now = _problems(snapshot, before)
            self._known[snapshot.cluster] = now
        new = {key: one.problem for key, one in now.items() if key not in before or _news(before[key], one)}
        _tell_new(subject, snapshot.cluster, new)
        _tell_gone(subject, snapshot, {key: one for key, one in before.items() if key not in now})
        if first:
            failing = sorted(run.name for run in snapshot.runs if not run.success)
            outcome = f"failing: {', '.join(failing)}" if failing else "everything was read"
            tell(logging.INFO, subject, f"first poll done; {outcome}", cluster=snapshot.cluster, failing=failing)

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
            self._known = {name: known for name, known in self._known.items() if name not in gone}
            self._fresh = {name: fresh for name, fresh in self._fresh.items() if name not in gone}
            self._stale -= gone


def _problems(snapshot: ClusterSnapshot, before: Mapping[Key, Known]) -> dict[Key, Known]:
    """The problems there are now, each with the time at which it began."""
    ran = {run.name for run in snapshot.runs}
    now = {key: known for key, known in before.items() if key[0] not in ran}
    for run in snapshot.runs:
        for problem in run.problems:
            key = (run.name, problem.item)
            since, told = (before[key].since, before[key].told) if key in before else (snapshot.taken_at, frozenset())
            now[key] = Known(problem, since, told if len(told) >= MOST_WORDS else told | {_words(problem)})
    return now


def _tell_new(subject: str, cluster: str, new: Mapping[Key, Problem]) -> None:
    """One line for each problem, even when it keeps several collectors from reading."""
    collectors: dict[Problem, list[str]] = {}
    for (collector, _), problem in new.items():
        collectors.setdefault(problem, []).append(collector)
    for kind in Kind:
        of_kind = [problem for problem in collectors if problem.kind is kind]
        level = logging.INFO if kind is Kind.UNSUPPORTED else logging.WARNING
        for problem in of_kind[:TOLD_ONE_BY_ONE]:
            names = collectors[problem]
            fields = {"cluster": cluster, "collectors": names, "kind": kind.value, "item": problem.item}
            tell(level, subject, f"{_named(problem)} ({', '.join(names)}: {kind})", **fields)
        if more := len(of_kind[TOLD_ONE_BY_ONE:]):
            names = sorted({name for problem in of_kind[TOLD_ONE_BY_ONE:] for name in collectors[problem]})
            text = f"{more} more like this ({', '.join(names)}: {kind})"
            tell(level, subject, text, cluster=cluster, collectors=names, kind=kind.value, more=more)


def _tell_gone(subject: str, snapshot: ClusterSnapshot, gone: Mapping[Key, Known]) -> None:
    items: dict[str, Known] = {}
    for (_, item), known in gone.items():
        items.setdefault(item, known)
    for item, known in list(items.items())[:TOLD_ONE_BY_ONE]:
        lasted = round(snapshot.taken_at - known.since)
        text = f"recovered: {item}, after {lasted} s ({known.problem.kind})"
        fields = {"cluster": snapshot.cluster, "item": item, "kind": known.problem.kind.value}
        tell(logging.INFO, subject, text, recovered=True, lasted_seconds=lasted, **fields)
    if (more := len(items) - TOLD_ONE_BY_ONE) > 0:
        tell(logging.INFO, subject, f"recovered: {more} more", cluster=snapshot.cluster, recovered=True, more=more)


def _named(problem: Problem) -> str:
    return problem.detail if problem.detail.startswith(problem.item) else f"{problem.item}: {problem.detail}"


def _words(problem: Problem) -> tuple[Kind, str]:
    """A problem without its numbers (offsets, waits, ports)."""
    return problem.kind, NUMBER.sub("", problem.detail)


def _news(before: Known, now: Known) -> bool:
    """Whether a problem that was told is worth another line: not for other numbers, nor for words it was told in."""
    return len(before.told) < MOST_WORDS and _words(now.problem) not in before.told
