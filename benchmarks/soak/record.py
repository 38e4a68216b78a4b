"""What a run has seen, second by second, and the verdict on it. Written as CSV and JSON."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import memory
from benchmarks.soak.checks import Trouble

GROWTH_LIMIT_MB = 8.0  # over the run after the warm-up; 720 polls in an hour: a leak of 12 KB a poll is found
HANDLES_LIMIT = 10  # further open files or threads at the end than after the warm-up
INCOMPLETE_MOST = 0.02  # share of the pages of calm weather that may say so
JUDGED_LEAST = 0.9  # share of the compared values whose truth was known in the end
SHOWN = 40  # wrong values that are told one by one


@dataclass(frozen=True, slots=True)
class Row:
    """One scrape: one line of the CSV."""

    second: float  # since the beginning
    rss_mb: float
    series: int
    bytes: int
    scrape_ms: float
    kafka_refresh_s: float | None
    rabbitmq_refresh_s: float | None
    files: int
    threads: int
    wrong: int  # so far
    failed: int  # so far
    load: float


@dataclass
class Account:
    """Everything that is counted."""

    rows: list[Row] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    right: int = 0
    unjudged: int = 0
    young: int = 0  # values with which nothing could be compared: of things too new, or not in the ledger
    calm: int = 0  # pages of one system in calm weather
    incomplete: int = 0  # of those, pages that said that they were not complete
    troubles: Sequence[Trouble] = ()
    workload: dict[str, int] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)  # what else went wrong


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the verdict."""

    claim: str
    held: bool
    seen: str


def verdict(account: Account, planned_restarts: int) -> list[Check]:
    """All checks; the run is good when every one held."""
    points = [(row.second, row.rss_mb) for row in account.rows]
    grown = memory.growth(points)
    judged = account.right + len(account.wrong)
    share = judged / max(judged + account.unjudged, 1)
    handles = _more_handles(account.rows)
    made, gone = account.workload.get("born", 0), account.workload.get("gone", 0)
    known = f"{judged} compared, {account.unjudged} whose truth never became known"
    return [
        Check("no scrape failed, every page was valid", not account.failed and bool(account.rows),
              f"{len(account.rows)} scrapes, {len(account.failed)} failed"),
        Check("no value was wrong, nothing lingered, nothing was missing", not account.wrong,
              f"{account.right} right, {len(account.wrong)} wrong"),
        Check(f"in calm weather at most {INCOMPLETE_MOST:.0%} of the pages said that they were incomplete",
              account.calm > 0 and account.incomplete <= INCOMPLETE_MOST * account.calm,
              f"{account.incomplete} of {account.calm}"),
        Check(f"the truth of at least {JUDGED_LEAST:.0%} of the values became known",
              judged > 0 and share >= JUDGED_LEAST, known),
        Check(f"memory grew by less than {GROWTH_LIMIT_MB:.0f} MB after the warm-up", grown < GROWTH_LIMIT_MB,
              f"{grown:+.1f} MB by the best line, {_slope_an_hour(points):+.1f} MB an hour"),
        Check(f"at most {HANDLES_LIMIT} more files and threads", handles <= HANDLES_LIMIT, f"{handles:+d}"),
        Check("things came and went", made > 0 and gone > 0, f"{made} made, {gone} deleted"),
        Check("brokers were restarted", len(account.troubles) >= planned_restarts,
              f"{len(account.troubles)} restarts, {planned_restarts} planned"),
        Check("the exporter reported no fault of its own, and nothing else broke", not account.faults,
              "; ".join(account.faults) or "none"),
    ]  # fmt: skip


def _slope_an_hour(points: list[tuple[float, float]]) -> float:
    return 3600 * memory.slope(memory.after_warm_up(points))


def _more_handles(rows: Sequence[Row]) -> int:
    """Open files and threads: the median of the last fifth of the run less that of the first fifth after a warm-up."""
    warm = rows[len(rows) // 4 :]
    fifth = max(len(warm) // 5, 1)
    first, last = (median(row.files + row.threads for row in part) for part in (warm[:fifth], warm[-fifth:])) \
        if warm else (0, 0)  # fmt: skip
    return round(last - first)


def write(folder: Path, account: Account, checks: Sequence[Check]) -> None:
    """`soak.csv` and `soak.json`."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "soak.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, [one.name for one in fields(Row)])
        table.writeheader()
        table.writerows(asdict(row) for row in account.rows)
    found = {
        "verdict": "held" if all(check.held for check in checks) else "failed",
        "checks": [asdict(check) for check in checks],
        "summary": summary(account),
        "restarts": [asdict(trouble) for trouble in account.troubles],
        "workload": account.workload,
        "values": {name: getattr(account, name) for name in ("right", "unjudged", "young", "calm", "incomplete")},
        "wrong": account.wrong[:SHOWN],
        "failed": account.failed[:SHOWN],
        **account.notes,
    }
    (folder / "soak.json").write_text(json.dumps(found, indent=1) + "\n")


def summary(account: Account) -> dict[str, float]:
    """The figures a person asks for first."""
    rows = account.rows
    if not rows:
        return {}
    scrapes = sorted(row.scrape_ms for row in rows)
    warm = memory.after_warm_up([(row.second, row.rss_mb) for row in rows])
    return {
        "seconds": round(rows[-1].second, 1),
        "rss_mb": round(median(value for _, value in warm), 1),
        "rss_growth_mb": round(memory.growth([(row.second, row.rss_mb) for row in rows]), 2),
        "scrape_p50_ms": round(scrapes[len(scrapes) // 2], 2),
        "scrape_p99_ms": round(scrapes[min(int(len(scrapes) * 0.99), len(scrapes) - 1)], 2),
        "series_most": max(row.series for row in rows),
        "load_median": round(median(row.load for row in rows), 2),
    }
