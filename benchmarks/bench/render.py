"""(a) Writing a page of 100,000 samples, beside prometheus-client's `generate_latest` on the same samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector, CollectorRegistry

from benchmarks.timing import best, best_of_both
from exporter import page
from exporter.metrics import registry
from exporter.metrics.family import Family, Measured
from exporter.page import Format, Renderer

CLUSTER = "bench"
NAMES = (
    "mq_kafka_group_committed_offset",
    "mq_kafka_group_lag_offsets",
    "mq_kafka_group_oldest_message_age_seconds",
    "mq_kafka_partition_high_watermark_offset",
)
"""The families that most of a large page consists of."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """CPU seconds for one page: ours in the steady state, our first one, ours with gzip, and prometheus-client's."""

    samples: int
    ours: float
    first: float
    compressed: float
    theirs: float

    @property
    def ratio(self) -> float:
        """How much more CPU prometheus-client needs."""
        return self.theirs / self.ours


def measured(samples: int) -> Measured:
    """So many samples, as those of a cluster with 20 groups would be."""
    families = {family.name: family for subject in registry.subjects() for family in subject.families}
    chosen = [families[name] for name in NAMES]
    found: Measured = {family: {} for family in chosen}
    for number in range(samples):
        family = chosen[number % len(chosen)]
        at = number // len(chosen)
        group, topic, partition = f"group-{at % 20}", f"topic-{at // 2000}", str(at // 20 % 100)
        labels = (group, topic, partition) if len(family.labels) == 3 else (f"{topic}-{group}", partition)
        found[family][labels] = at * 1.25 if family.name.endswith("seconds") else 1_000_000 + at
    return found


class Theirs(Collector):
    """The same samples, as an exporter on prometheus-client gives them."""

    def __init__(self, samples: Measured) -> None:
        self.samples = samples

    def collect(self) -> Iterator[Any]:
        """One metric for each family."""
        for family, samples in self.samples.items():
            made = CounterMetricFamily if family.kind == "counter" else GaugeMetricFamily
            metric = made(family.name, family.help, labels=["cluster", *family.labels])
            for labels, value in samples.items():
                metric.add_metric([CLUSTER, *labels], value)
            yield metric


def compare(samples: int, runs: int) -> Rendered:
    """Both, in turn. Raises AssertionError when the two pages do not say the same."""
    found = measured(samples)
    theirs = CollectorRegistry()
    theirs.register(Theirs(found))
    renderer = Renderer(CLUSTER)
    headers = page.headers_of(found)
    first = best(1, lambda: plain(found, renderer, headers)).cpu
    ours = plain(found, renderer, headers)
    assert values(ours) == values(generate_latest(theirs)), "the two pages differ"
    took, their_time = best_of_both(runs, lambda: plain(found, renderer, headers), lambda: generate_latest(theirs))
    compressed = best(runs, lambda: renderer.render(found, 0.0)).cpu
    return Rendered(samples, took.cpu, first, compressed, their_time.cpu)


def plain(found: Measured, renderer: Renderer, headers: dict[tuple[Family, Format], page.Piece]) -> bytes:
    """Our page without compression."""
    lines = []
    for family, samples in found.items():
        lines.append(headers[family, Format.TEXT].plain)
        lines.append(page.sample_lines(family, samples, renderer.texts_for(family.labels)))
    return b"".join(lines)


def values(text: bytes) -> dict[tuple[bytes, frozenset[bytes]], float]:
    """Name and label pairs -> value; prometheus-client sorts the labels, and no label here has a comma in it."""
    found = {}
    for line in text.splitlines():
        if not line.startswith(b"#"):
            sample, value = line.rsplit(b" ", 1)
            name, _, labels = sample.rstrip(b"}").partition(b"{")
            found[name, frozenset(labels.split(b","))] = float(value)
    return found
