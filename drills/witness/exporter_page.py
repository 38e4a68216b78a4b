"""The exporter's page as a witness: read over HTTP as Prometheus reads it, never through the exporter's own code."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import requests
from prometheus_client.parser import text_string_to_metric_families

from drills.witness.rabbitmq import TIMEOUT, WitnessError

Labels = frozenset[tuple[str, str]]


@dataclass(frozen=True)
class Page:
    """The samples of one scrape. `at`: monotonic seconds."""

    at: float
    samples: Mapping[str, Mapping[Labels, float]]

    def value(self, name: str, **labels: str) -> float | None:
        """The value of the one sample with these labels (others don't matter); None when there is none.

        Raises WitnessError when there are several, as one of them would be as good as another.
        """
        wanted = labels.items()
        found = [value for key, value in self.samples.get(name, {}).items() if wanted <= dict(key).items()]
        if len(found) > 1:
            raise WitnessError(f"the page has {len(found)} samples of {name} with {labels}")
        return found[0] if found else None


def fetch(url: str) -> Page:
    """Scrapes the page. Raises WitnessError."""
    try:
        with requests.Session() as session:
            session.trust_env = False
            answer = session.get(url, timeout=TIMEOUT)
        answer.raise_for_status()
    except requests.RequestException as error:
        raise WitnessError(f"no page from {url}: {type(error).__name__}") from None
    return parse(answer.text, time.monotonic())


def parse(text: str, at: float) -> Page:
    """A page of the text format."""
    samples: dict[str, dict[Labels, float]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            samples.setdefault(sample.name, {})[frozenset(sample.labels.items())] = sample.value
    return Page(at, samples)
