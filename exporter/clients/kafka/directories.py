"""Log directories of every broker, at a slow pace."""

from __future__ import annotations

from exporter.clients.kafka import codes, rights
from exporter.clients.kafka.brokers import Brokers, Failure, Request
from exporter.clients.kafka.messages import log_dirs
from exporter.clients.kafka.messages.log_dirs import LogDirRow
from exporter.clients.kafka.recorder import Kept, Recorder
from exporter.clients.kafka.wire import MalformedError
from exporter.model.common import CollectorRun, Kind
from exporter.model.kafka import LogDir

NAME = "log_dirs"


class DirectoryReader:
    """Keeps the directories of each broker for three intervals when it can't be asked."""

    def __init__(self, brokers: Brokers, interval: float, poll_interval: float) -> None:
        self._brokers = brokers
        self._interval = interval
        self._kept: Kept[tuple[LogDir, ...]] = Kept(interval, poll_interval)
        self._run: CollectorRun | None = None
        self._topics: dict[int, frozenset[str]] = {}  # broker -> topics with a log there, when it was last asked

    def read(self, members: set[int]) -> CollectorRun | None:
        """Bring them up to date when it is time; the account of the last time. Directories of others are forgotten."""
        brokers = members | set(self._brokers.known)
        self._kept.keep_only(set(brokers))
        self._topics = {broker: names for broker, names in self._topics.items() if broker in brokers}
        if self._kept.due():
            with Recorder(NAME, self._interval) as run:
                self._ask(run)
            self._run = run.run()
        return self._run

    def directories(self) -> tuple[LogDir, ...]:
        """All that are known, by broker and path."""
        return tuple(sorted((row for rows in self._kept.values().values() for row in rows), key=_place))

    def topics(self) -> frozenset[str]:
        """The topics with a log in some directory, those included that we may not describe."""
        return frozenset().union(*self._topics.values())

    def _ask(self, run: Recorder) -> None:
        requests: dict[int, list[Request]] = {}
        versions = {}
        self._brokers.connect(self._brokers.known)
        for broker in self._brokers.known:
            version = self._brokers.version(broker, log_dirs.API_KEY, log_dirs.LOWEST, log_dirs.HIGHEST)
            if version is None:
                failure = self._brokers.failure(broker) or self._brokers.unsupported(broker, "DescribeLogDirs v2")
                run.problem(f"broker {broker}", failure)
            else:
                requests[broker], versions[broker] = [log_dirs.request(version)], version
        for broker, answer in self._brokers.ask(requests).items():
            if isinstance(answer, Failure):
                run.problem(f"broker {broker}", answer)
            else:
                self._take(broker, answer[0], versions[broker], run)

    def _take(self, broker: int, data: bytes, version: int, run: Recorder) -> None:
        try:
            code, rows = log_dirs.decode(data, version)
        except MalformedError as error:
            run.malformed(f"broker {broker}", error)
            return
        # a broker always has one: before DescribeLogDirs v3 a user without the right got an empty list and no error
        if code == codes.CLUSTER_DENIED or not (code or rows):
            if not any(problem.item == rights.CLUSTER for problem in run.problems):
                run.problem(rights.CLUSTER, rights.DESCRIBE_CLUSTER.failure())
        elif code:
            run.problem(f"broker {broker}", codes.failure(code))
        for row in rows:
            if row.error not in (codes.NONE, codes.KAFKA_STORAGE_ERROR):
                run.problem(f"broker {broker}, directory {row.path}", codes.failure(row.error))
        if rows and version < 4:
            words = "sizes of disks need DescribeLogDirs v4 (Kafka 3.3)"
            run.problem(f"broker {broker}", Failure(Kind.UNSUPPORTED, words))
        if not code:
            self._topics[broker] = frozenset().union(*(row.topics for row in rows))
            self._kept.put(broker, tuple(_directory(broker, row) for row in rows))


def _directory(broker: int, row: LogDirRow) -> LogDir:
    offline = row.error == codes.KAFKA_STORAGE_ERROR
    return LogDir(broker, row.path, offline, None if offline else row.used, row.total, row.usable)


def _place(row: LogDir) -> tuple[int, str]:
    return row.broker, row.path
