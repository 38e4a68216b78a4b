"""Keeps the account of one run of one collector, and the last good result of one that has its own pace."""

from __future__ import annotations

import time
from collections import Counter
from types import TracebackType
from typing import Generic, TypeVar

from exporter.clients.kafka.failures import Failure
from exporter.model.common import STALE_AFTER, CollectorRun, Kind, Problem

Result = TypeVar("Result")


class Recorder:
    """Collects problems and skipped items between `with` and its end, which sets the duration."""

    def __init__(self, name: str, interval: float) -> None:
        self.name = name
        self.interval = interval
        self.problems: list[Problem] = []
        self.skipped: Counter[str] = Counter()
        self._started_at = time.time()
        self._since = time.monotonic()
        self._duration = 0.0

    def __enter__(self) -> Recorder:
        self._since = time.monotonic()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._duration += time.monotonic() - self._since

    def problem(self, item: str, failure: Failure) -> None:
        """Something could not be read."""
        self.problems.append(Problem(failure.kind, item, failure.detail))

    def malformed(self, item: str, error: Exception) -> None:
        """An answer that can't be read."""
        self.problem(item, Failure(Kind.PROTOCOL, f"the answer can't be read: {error}"))

    def skip(self, reason: str, count: int) -> None:
        """Items left out on purpose."""
        if count:
            self.skipped[reason] += count

    def run(self) -> CollectorRun:
        """The account. A broker without a feature is no failure."""
        failed = any(problem.kind is not Kind.UNSUPPORTED for problem in self.problems)
        skipped = dict(self.skipped)
        return CollectorRun(
            self.name, not failed, self._started_at, self._duration, self.interval, tuple(self.problems), skipped
        )


class Kept(Generic[Result]):
    """Values by key, each good for three intervals of its collector, or three polls where these are longer."""

    def __init__(self, interval: float, poll_interval: float) -> None:
        self._interval = interval
        self._good_for = STALE_AFTER * max(interval, poll_interval)
        self._values: dict[object, tuple[float, Result]] = {}
        self._asked_at = float("-inf")
        self.last_run: CollectorRun | None = None

    def due(self) -> bool:
        """Whether it is time to ask again; asking is then taken as done."""
        now = time.monotonic()
        if now - self._asked_at < self._interval:
            return False
        self._asked_at = now
        return True

    def put(self, key: object, value: Result) -> None:
        """A fresh value."""
        self._values[key] = (time.monotonic(), value)

    def get(self, key: object) -> Result | None:
        """The value if it is young enough."""
        read_at, value = self._values.get(key, (float("-inf"), None))
        return value if time.monotonic() - read_at <= self._good_for else None

    def keep_only(self, keys: set[object]) -> None:
        """Forget all others: what is gone must not linger."""
        self._values = {key: value for key, value in self._values.items() if key in keys}

    def values(self) -> dict[object, Result]:
        """All that are young enough."""
        oldest = time.monotonic() - self._good_for
        return {key: value for key, (read_at, value) in self._values.items() if read_at >= oldest}
