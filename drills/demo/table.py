"""The table that the demo prints: what Prometheus answers, beside what the ledger says was put in."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from drills.lab.monitoring import Prometheus


@dataclass(frozen=True, slots=True)
class Row:
    """One question to Prometheus and the answer that the ledger demands.

    `low` and `high` are functions of the moment of the question, because ages grow meanwhile; equal for exact values.
    """

    title: str
    query: str
    low: Callable[[float], float]
    high: Callable[[float], float]
    source: str
    unit: str = ""


def exactly(title: str, query: str, value: float, source: str, unit: str = "") -> Row:
    """A row whose value is known exactly."""
    return Row(title, query, lambda _: value, lambda _: value, source, unit)


def age(title: str, query: str, since: float, delay: float, source: str) -> Row:
    """A row for the age of something that was written at `since`; the page may be `delay` seconds old."""
    return Row(title, query, lambda now: now - since - delay, lambda now: now - since + 0.05, source, "s")


@dataclass(frozen=True, slots=True)
class Answer:
    """What Prometheus said, and whether the ledger agrees."""

    row: Row
    value: float | None
    at: float

    @property
    def agrees(self) -> bool:
        """Whether the value is what the ledger demands."""
        return self.value is not None and self.row.low(self.at) <= self.value <= self.row.high(self.at)

    def cells(self) -> tuple[str, str, str, str]:
        """The row as text."""
        unit = f" {self.row.unit}" if self.row.unit else ""
        low, high = self.row.low(self.at), self.row.high(self.at)
        expected = f"{high:g}{unit}" if low == high else f"{low:.1f} … {high:.1f}{unit}"
        seen = "no answer" if self.value is None else f"{self.value:.6g}{unit}"
        return self.row.title, seen, expected, "ok" if self.agrees else f"WRONG ({self.row.source})"


def ask(prometheus: Prometheus, row: Row) -> Answer:
    """Ask Prometheus once. More or fewer than one series is no answer: the row names exactly one."""
    found = prometheus.query(row.query)
    now, value = found[0]["value"] if len(found) == 1 else (time.time(), None)
    return Answer(row, None if value is None else float(value), float(now))


def layout(answers: Iterable[Answer]) -> str:
    """The table as text, in columns."""
    rows = [("what", "Prometheus says", "the ledger says", ""), *(answer.cells() for answer in answers)]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = [
        "  ".join([row[0].ljust(widths[0]), row[1].rjust(widths[1]), row[2].rjust(widths[2]), row[3]]) for row in rows
    ]
    return "\n".join([lines[0], "  ".join("-" * width for width in [*widths, 2]), *lines[1:]])
