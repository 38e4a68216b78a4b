"""A collector's run in progress, and collectors that keep their last good result because their pace is slow."""

from __future__ import annotations

import time
from collections import Counter
from typing import Generic, TypeVar

from exporter.clients.rabbitmq.failures import Failure
from exporter.model.common import STALE_AFTER, CollectorRun, Kind, Problem

T = TypeVar("T")


class Run:
    """One collector in this poll: what went wrong and what was withheld."""

    def __init__(self, name: str, interval: float) -> None:
        self.name = name
        self.interval = interval
        self.problems: list[Problem] = []
        self.skipped: Counter[str] = Counter()
        self._started_at = time.time()
        self._began = time.monotonic()
        self._took: float | None = None

    def failed(self, item: str, failure: Failure) -> None:
        """Something could not be read."""
        self.problems.append(failure.problem(item))

    def stop(self) -> None:
        """The work is done; what is added later (skipped items) takes no time of its own."""
        self._took = time.monotonic() - self._began

    def done(self) -> CollectorRun:
        """The run, frozen. Unsupported is counted and is no failure."""
        return CollectorRun(
            self.name,
            success=all(problem.kind is Kind.UNSUPPORTED for problem in self.problems),
            started_at=self._started_at,
            duration_seconds=time.monotonic() - self._began if self._took is None else self._took,
            interval_seconds=self.interval,
            problems=tuple(self.problems),
            skipped=dict(self.skipped),
        )


class Slow(Generic[T]):
    """A collector with its own pace: runs when it is due, after a failure at the next poll."""

    def __init__(self, name: str, interval: float) -> None:
        self.name = name
        self.interval = interval
        self.run: CollectorRun | None = None
        self._value: T | None = None
        self._taken: float | None = None

    def due(self) -> bool:
        """Whether it is time to run again."""
        late = self._taken is None or time.monotonic() - self._taken >= self.interval
        return late or self.run is None or not self.run.success

    def begin(self) -> Run:
        """A new run."""
        return Run(self.name, self.interval)

    def end(self, run: Run, value: T | None) -> None:
        """Keep the outcome. None: the run failed, and the last good result stays."""
        self.run = run.done()
        if value is not None:
            self._value = value
            self._taken = time.monotonic()

    @property
    def value(self) -> T | None:
        """The last good result, unless it is too old."""
        if self._taken is None or time.monotonic() - self._taken > STALE_AFTER * self.interval:
            return None
        return self._value
