"""What is known of each cluster at this moment: its last snapshot, and its samples by the names of their families."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from exporter.config.model import Kafka
from exporter.metrics.family import Family, Samples
from exporter.model.common import ClusterSnapshot
from exporter.poll import Poller


@dataclass(frozen=True, slots=True)
class Facts:
    """One cluster. Without `snapshot` it has not been polled yet; without `fresh` its samples are withheld."""

    cluster: str
    system: str
    interval: float  # seconds
    snapshot: ClusterSnapshot | None
    fresh: bool
    families: Mapping[str, tuple[Family, Samples]] = field(default_factory=dict)

    @property
    def readable(self) -> bool:
        """Whether everything that should have been read was."""
        return self.fresh and self.snapshot is not None and all(run.success for run in self.snapshot.runs)

    def rows(self, family: str) -> Iterator[tuple[dict[str, str], float]]:
        """Labels and value of each sample of a family; none when the family is absent."""
        found, samples = self.families.get(family, (None, {}))
        if found is not None:
            for values, value in samples.items():
                yield dict(zip(found.labels, values, strict=True)), value

    def by(self, family: str, *labels: str) -> dict[tuple[str, ...], float]:
        """The samples of a family by some of its labels; of several with the same ones, the largest."""
        found, samples = self.families.get(family, (None, {}))
        if found is None or found.labels == labels:
            return dict(samples)  # the common case, with 100,000 samples
        places = [found.labels.index(label) for label in labels]
        result: dict[tuple[str, ...], float] = {}
        for values, value in samples.items():
            key = tuple(values[place] for place in places)
            result[key] = max(value, result.get(key, value))
        return result

    def where(self, family: str, value: float) -> list[dict[str, str]]:
        """The labels of the samples that have this value."""
        return [row for row, found in self.rows(family) if found == value]


def gather(poller: Poller) -> list[Facts]:
    """All clusters in the order of the configuration. Waits for nothing."""
    now = time.monotonic()
    found = []
    for name, cluster in list(poller.clusters.items()):
        published = cluster.published
        fresh = published is not None and cluster.fresh(now) is not None
        found.append(
            Facts(
                cluster=name,
                system="kafka" if isinstance(cluster.config, Kafka) else "rabbitmq",
                interval=cluster.config.interval,
                snapshot=None if published is None else published.snapshot,
                fresh=fresh,
                families={f.name: (f, s) for f, s in published.measured().items()} if published and fresh else {},
            )
        )
    return found
