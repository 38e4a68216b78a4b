"""`mq-exporter`, broken on purpose, so that the soak is seen to fail.

usage: python -m benchmarks.soak.broken leak|wrong|lingers|stale|fails -- (arguments of mq-exporter)
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from exporter import poll
from exporter.__main__ import main
from exporter.metrics import registry
from exporter.metrics.family import Measured

kept: list[Any] = []
LEAK = 2_000_000  # bytes a poll
FAILS_EVERY = 20  # scrapes


def leak() -> None:
    """Every poll keeps something for good."""

    def change(measured: Measured) -> Measured:
        kept.append(bytearray(LEAK))
        return measured

    _after_measuring(change)


def wrong() -> None:
    """One lag in a hundred is one too many."""
    calls = iter(range(1 << 60))

    def change(measured: Measured) -> Measured:
        for family, samples in measured.items():
            if family.name == "mq_kafka_group_lag_offsets":
                for labels in samples:
                    samples[labels] += next(calls) % 100 == 0
        return measured

    _after_measuring(change)


def lingers() -> None:
    """What was once seen keeps its last value."""
    seen: dict[Any, dict[Any, float]] = {}

    def change(measured: Measured) -> Measured:
        for family, samples in measured.items():
            seen[family] = seen.get(family, {}) | dict(samples)
        return dict(seen)

    _after_measuring(change)


def stale() -> None:
    """Each page is that of five polls ago."""
    pages: list[Measured] = []

    def change(measured: Measured) -> Measured:
        pages.append(measured)
        return pages[-6:][0]

    _after_measuring(change)


def fails() -> None:
    """Now and then a scrape has no page."""
    page, calls = poll.Poller.page, iter(range(1 << 60))

    def sometimes(self: poll.Poller, *given: Any, **named: Any) -> list[bytes]:
        if next(calls) % FAILS_EVERY == FAILS_EVERY - 1:
            raise RuntimeError("broken on purpose")
        return page(self, *given, **named)

    poll.Poller.page = sometimes  # type: ignore[method-assign]


def _after_measuring(change: Callable[[Measured], Measured]) -> None:
    measure = registry.measure

    def changed(snapshot: Any) -> tuple[Measured, Any]:
        measured, faults = measure(snapshot)
        return change(measured) if snapshot.system == "kafka" else measured, faults

    registry.measure = changed


WAYS = {way.__name__: way for way in (leak, wrong, lingers, stale, fails)}

if __name__ == "__main__":
    WAYS[sys.argv[1]]()
    sys.argv = ["mq-exporter", *sys.argv[2:]]
    sys.exit(main())
