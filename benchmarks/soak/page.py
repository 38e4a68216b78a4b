"""One scrape, as Prometheus makes it, read strictly."""

from __future__ import annotations

import gzip
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from typing import Any

from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families as read_text

OPENMETRICS = "application/openmetrics-text; version=1.0.0"
FORMS = (("", ""), ("", "gzip"), (OPENMETRICS, ""), (OPENMETRICS, "gzip"))
"""Accept and Accept-Encoding of the four forms of a page; each scrape has the next."""
TIMEOUT = 10.0  # seconds, as Prometheus' own: a scrape that takes longer has failed

Labels = tuple[tuple[str, str], ...]


class InvalidPageError(Exception):
    """A page that a strict reader refuses, with its reason."""


@dataclass(frozen=True, slots=True)
class Scrape:
    """A scrape. `samples`: name -> labels, sorted -> value; empty, with the reason in `failure`, when it failed."""

    began: float  # unix seconds
    ended: float
    size: int = 0
    samples: dict[str, dict[Labels, float]] = field(default_factory=dict)
    failure: str = ""

    def by(self, name: str, *labels: str) -> dict[tuple[str, ...], float]:
        """The samples of a name, by the values of some labels."""
        found = {}
        for given, value in self.samples.get(name, {}).items():
            has = dict(given)
            found[tuple(has[label] for label in labels)] = value
        return found

    def series(self) -> int:
        """How many samples the page has."""
        return sum(map(len, self.samples.values()))


def scrape(port: int, number: int) -> Scrape:
    """The `number`th scrape; never raises."""
    accept, encoding = FORMS[number % len(FORMS)]
    began = time.time()
    connection = HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
    try:
        connection.request("GET", "/metrics", headers={"Accept": accept or "*/*", "Accept-Encoding": encoding})
        response = connection.getresponse()
        body = response.read()
        ended = time.time()
        if response.status != 200:
            return Scrape(began, ended, failure=f"status {response.status}")
        text = (gzip.decompress(body) if encoding else body).decode()
        return Scrape(began, ended, len(body), samples_of(text, bool(accept)))
    except (OSError, EOFError, HTTPException, ValueError, InvalidPageError) as error:
        return Scrape(began, time.time(), failure=f"{type(error).__name__}: {error}")
    finally:
        connection.close()


def samples_of(text: str, openmetrics: bool) -> dict[str, dict[Labels, float]]:
    """The samples of a page. Raises InvalidPageError when it is not valid, or has a sample twice."""
    try:
        return _once(_samples((read_openmetrics if openmetrics else read_text)(text)))
    except (ValueError, KeyError, IndexError, TypeError) as error:  # what the parsers raise on bad text
        raise InvalidPageError(f"not valid: {type(error).__name__} {error}") from None


def _samples(families: Iterable[Any]) -> Iterator[tuple[str, Labels, float]]:
    for family in families:
        for sample in family.samples:
            yield sample.name, tuple(sorted(sample.labels.items())), sample.value


def _once(samples: Iterable[tuple[str, Labels, float]]) -> dict[str, dict[Labels, float]]:
    found: dict[str, dict[Labels, float]] = {}
    for name, labels, value in samples:
        of_name = found.setdefault(name, {})
        if labels in of_name:
            raise InvalidPageError(f"{name}{dict(labels)} is there twice")
        if value != value or value in (float("inf"), float("-inf")):
            raise InvalidPageError(f"{name}{dict(labels)} is {value}")
        of_name[labels] = value
    if not found:
        raise InvalidPageError("no sample")
    return found
