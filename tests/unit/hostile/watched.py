"""A poller whose every page is looked at: it never faults, hangs, or says what can't be."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from math import isfinite
from typing import Any

from prometheus_client.openmetrics.parser import text_string_to_metric_families

from exporter.clients.reader import Reader
from exporter.config.model import Config, Kafka, RabbitMQ
from exporter.poll import Poller

MAY_BE_NEGATIVE = frozenset({"mq_clock_offset_seconds", "mq_dlq_time_to_deletion_seconds"})
Key = tuple[str, tuple[tuple[str, str], ...]]


class Faults(logging.Handler):
    """Keeps what is logged as a fault of the exporter."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append(logging.Formatter().format(record))


class Watched:
    """One cluster, polled by hand."""

    def __init__(self, section: Kafka | RabbitMQ, reader: Callable[[Any], Reader], deadline: float) -> None:
        config = Config(kafka=(section,)) if isinstance(section, Kafka) else Config(rabbitmq=(section,))
        self.poller = Poller(config, reader)
        self.cluster = self.poller.clusters[section.cluster]
        self.deadline = deadline
        self.slowest = 0.0
        self.faults = Faults()

    def __enter__(self) -> Watched:
        logging.getLogger().addHandler(self.faults)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger().removeHandler(self.faults)
        self.cluster.close()

    def poll(self) -> dict[Key, float]:
        """The samples of the page after one more poll. Raises AssertionError when it is not as every page is."""
        began = time.monotonic()
        self.cluster.poll()
        took = time.monotonic() - began
        self.slowest = max(self.slowest, took)
        assert [] == self.faults.found, "\n".join(self.faults.found)
        assert took < self.deadline, f"the poll took {took:.1f} s"
        return samples(b"".join(self.poller.page(True, False)).decode())


def samples(page: str) -> dict[Key, float]:
    """All samples of a page that is valid OpenMetrics, without duplicates, NaN and negative numbers."""
    found: dict[Key, float] = {}
    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            key = (sample.name, tuple(sorted(sample.labels.items())))
            assert key not in found, f"twice: {key}"
            assert isfinite(sample.value), f"{sample.value}: {key}"
            assert sample.value >= 0 or sample.name in MAY_BE_NEGATIVE, f"{sample.value}: {key}"
            found[key] = sample.value
    return found


def only(page: dict[Key, float], names: tuple[str, ...]) -> dict[Key, float]:
    """The samples of these families."""
    return {key: value for key, value in page.items() if key[0] in names}
