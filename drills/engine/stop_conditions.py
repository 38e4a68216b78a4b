"""Stop conditions: an alert that fires or an expression that has a value ends the run, which is rolled back."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence

from drills.engine.errors import Refused
from drills.targets.target import Target
from drills.witness.prometheus_api import Prometheus
from drills.witness.rabbitmq import WitnessError

EVERY = 2.0  # seconds between two looks
BLIND = 5  # looks in a row without an answer: a run that can't be stopped must not go on

ALERT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def met(prometheus: Prometheus, condition: str) -> bool:
    """Whether an alert of this name fires; or whether the expression gives any series. Raises WitnessError."""
    if ALERT.fullmatch(condition):
        return "firing" in prometheus.alerts(condition)
    return bool(prometheus.values(condition))


class StopConditions:
    """Looks every two seconds while the block runs; `stop` is called once, with the reason, from another thread."""

    def __init__(self, target: Target, conditions: Sequence[str], stop: Callable[[str], None]) -> None:
        self._conditions = conditions
        self._stop = stop
        self._ended = threading.Event()
        if conditions and target.prometheus_url is None:
            raise Refused(f"target {target.name} has no Prometheus (prometheus_url): no stop condition can be read")
        self._prometheus = Prometheus(target.prometheus_url or "")
        self._thread = threading.Thread(target=self._watch, daemon=True, name="stop conditions")

    def check(self) -> None:
        """Raises Refused when one can't be read, or is met before anything was done."""
        for condition in self._conditions:
            try:
                if met(self._prometheus, condition):
                    raise Refused(f"stop condition {condition!r} is met already: nothing was touched")
            except WitnessError as error:
                raise Refused(f"stop condition {condition!r} can't be read: {error}") from error

    def __enter__(self) -> StopConditions:
        if self._conditions:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()

    def _watch(self) -> None:
        blind = 0
        while not self._ended.wait(EVERY):
            try:
                for condition in self._conditions:
                    if met(self._prometheus, condition):
                        return self._stop(f"stop condition {condition!r} is met")
                blind = 0
            except WitnessError as error:
                blind += 1
                if blind == BLIND:
                    return self._stop(f"stop conditions could not be read {BLIND} times in a row: {error}")
        return None
