"""A call that may take longer than a poll should: it runs beside the polls, which take its newest outcome."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Generic, TypeVar

from exporter.clients.rabbitmq.collecting import Run
from exporter.clients.rabbitmq.failures import Failure, RequestError
from exporter.model.common import STALE_AFTER, CollectorRun

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """How one call ended. `value` is None when it failed."""

    value: T | None
    run: CollectorRun


class Background(Generic[T]):
    """One collector whose calls never overlap. Its interval is its pace, or the length of a call when that is more."""

    def __init__(self, name: str, item: str, pool: ThreadPoolExecutor, interval: float) -> None:
        self.name = name
        self.run: CollectorRun | None = None
        self._item = item
        self._pool = pool
        self._interval = interval
        self._calling: Future[Outcome[T]] | None = None
        self._started = 0.0
        self._value: T | None = None
        self._good_until = 0.0

    def start(self, call: Callable[[], T]) -> None:
        """Call now, unless a call is still running or the last one is not yet an interval old."""
        late = self.run is None or not self.run.success or time.monotonic() - self._started >= self._interval
        if self._calling is None and late:
            self._started = time.monotonic()
            self._calling = self._pool.submit(self._call, call)

    def _call(self, call: Callable[[], T]) -> Outcome[T]:
        run, value = Run(self.name, self._interval), None
        try:
            value = call()
        except RequestError as error:
            run.failed(self._item, error.failure)
        run.stop()
        run.interval = max(self._interval, time.monotonic() - self._started)
        return Outcome(value, run.done())

    def take(self, patience: float) -> T | None:
        """The newest value, at most three intervals old. Waits for a running call, but no longer than `patience`."""
        if self._calling is not None and wait([self._calling], patience).done:
            ended, self._calling = self._calling, None
            outcome = ended.result()
            self.run = outcome.run
            if outcome.value is not None:
                self._value = outcome.value
                self._good_until = time.monotonic() + STALE_AFTER * outcome.run.interval_seconds
        return self._value if time.monotonic() < self._good_until else None

    def refuse(self, failure: Failure) -> None:
        """Note that there is no use in calling now."""
        run = Run(self.name, self._interval)
        run.failed(self._item, failure)
        self.run = run.done()
