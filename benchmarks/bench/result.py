"""The figures of a bench: what each means, its budget, the table, the file and the verdict.

Ratios are of two things measured in the same run, so they hold on a slow or busy machine too: they decide the exit
code. Absolute times and sizes stand beside their budgets and decide nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

AT_MOST, AT_LEAST = "≤", "≥"


@dataclass(frozen=True, slots=True)
class Figure:
    """One key of `bench.json`. `decides`: whether the exit code depends on it."""

    key: str
    meaning: str
    unit: str = ""
    budget: float | None = None
    sense: str = AT_MOST
    decides: bool = False

    def holds(self, value: float) -> bool:
        """Whether a value is within the budget; anything is where there is none."""
        if self.budget is None:
            return True
        return value <= self.budget if self.sense == AT_MOST else value >= self.budget


FIGURES = (
    Figure("render_ratio", "CPU of prometheus-client's generate_latest ÷ ours", "x", 5, AT_LEAST, True),
    Figure("render_cpu_s", "CPU for rendering 100,000 samples, labels known from the poll before", "s", 0.2),
    Figure("render_first_cpu_s", "the same for the first page of a process", "s"),
    Figure("render_gzip_cpu_s", "the same with its gzip", "s", 0.25),
    Figure("bare_s", "bare confluent-kafka calls: metadata, OffsetFetch, ListOffsets twice", "s"),
    Figure("refresh_s", "ours, first request to frozen snapshot, with ages and more", "s"),
    Figure("refresh_ratio", "refresh ÷ bare calls, best of five in turn", "x", 0.3, AT_MOST, True),
    Figure("refresh_cpu_ratio", "the same of CPU", "x"),
    Figure("refresh_page_s", "poll start to page ready", "s"),
    Figure("bare_secure_s", "bare calls on SASL_SSL, SCRAM-SHA-512", "s"),
    Figure("refresh_secure_s", "ours on SASL_SSL", "s"),
    Figure("refresh_secure_ratio", "refresh ÷ bare calls on SASL_SSL", "x", 0.3, AT_MOST, True),
    Figure("series", "series on the page of the large cluster"),
    Figure("page_mb", "its size, plain", "MB"),
    Figure("page_gzip_mb", "its size, gzip", "MB"),
    Figure("scrape_p50_ms", "scrape of that page, plain, no poll running", "ms"),
    Figure("scrape_p99_ms", "the same, 99th percentile", "ms"),
    Figure("scrape_gzip_p50_ms", "gzip, no poll running", "ms"),
    Figure("scrape_gzip_p99_ms", "the same, 99th percentile", "ms"),
    Figure("scrape_100k_p99_ms", "99th percentile for each 100,000 series, the slower of plain and gzip", "ms", 25),
    Figure("scrape_share", "median scrape ÷ the fastest exporter's, which needs 0.47 of the bare calls' time", "x",
           0.05, AT_MOST, True),
    Figure("scrape_busy_p50_ms", "plain, while polls run one after the other", "ms"),
    Figure("scrape_busy_p99_ms", "the same, 99th percentile", "ms"),
    Figure("scrape_gzip_busy_p50_ms", "gzip, while polls run", "ms"),
    Figure("scrape_gzip_busy_p99_ms", "the same, 99th percentile", "ms"),
    Figure("growth_ratio", "poll start to page, for ten times the partitions (linear is 10)", "x", 11, AT_MOST, True),
    Figure("startup_s", "start of the process to its first complete page", "s", 10),
    Figure("rss_mb", "resident memory, the most seen over 200 polls", "MB", 300),
    Figure("rss_growth_mb", "its growth over 200 polls, best line after the first quarter", "MB", 10),
    Figure("ages_5000_s", "exact ages of 5,000 lagging partitions of one group, in one pass", "s", 3),
    Figure("ages_all_s", "start of the process to 100,000 exact ages, at the default interval and age budget", "s", 60),
    Figure("ages_polls_skipped", "polls left out meanwhile", "", 0, AT_MOST, True),
    Figure("rabbitmq_5000_s", "poll of 5,000 queues, best of five", "s", 3),
    Figure("rabbitmq_first_s", "the first poll of them", "s"),
)  # fmt: skip
ASKED = (
    "render_ratio", "refresh_ratio", "scrape_p50_ms", "scrape_p99_ms", "scrape_gzip_p99_ms", "growth_ratio", "rss_mb",
    "rss_growth_mb", "ages_5000_s", "ages_all_s", "rabbitmq_5000_s",
)  # fmt: skip
"""Keys that must always be there."""


def missed(values: Mapping[str, float]) -> list[str]:
    """Keys that decide and are not within their budget, or were not measured."""
    return [
        figure.key
        for figure in FIGURES
        if figure.decides and (figure.key not in values or not figure.holds(values[figure.key]))
    ]


def table(values: Mapping[str, float]) -> str:
    """Key, value, budget, whether it holds, meaning; in Markdown, so that it can be put into the documentation."""
    rows = [("key", "value", "budget", "", "meaning"), ("---", "---:", "---:", "---", "---")]
    for figure in FIGURES:
        if figure.key in values:
            value = values[figure.key]
            budget = "" if figure.budget is None else f"{figure.sense} {_text(figure.budget, figure.unit)}"
            held = "" if figure.budget is None else "held" if figure.holds(value) else "MISSED"
            held += " (decides)" if figure.decides else ""
            rows.append((f"`{figure.key}`", _text(value, figure.unit), budget, held, figure.meaning))
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    return "\n".join(lines)


def _text(value: float, unit: str) -> str:
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{text} {unit}".rstrip()


@dataclass(frozen=True, slots=True)
class Kept:
    """What the file of an earlier run holds: figures by key, and the conditions by part."""

    values: Mapping[str, float]
    conditions: Mapping[str, Mapping[str, float]]


def read(path: Path, scale: float) -> Kept:
    """An earlier run's file; nothing where there is none, or where it was measured at another scale."""
    try:
        found = json.loads(path.read_text())
        conditions = found.pop("conditions")
        if conditions["scale"] == scale:
            return Kept(found, conditions["parts"])
    except (OSError, ValueError, KeyError):
        pass
    return Kept({}, {})


def write(path: Path, values: Mapping[str, float], conditions: Mapping[str, object]) -> None:
    """The file: every figure by its key, and under `conditions` what the machine was doing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rounded = {key: float(f"{value:.4g}") if isinstance(value, float) else value for key, value in values.items()}
    path.write_text(json.dumps({**rounded, "conditions": dict(conditions)}, indent=1) + "\n")
