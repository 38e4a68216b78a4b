"""docs/compatibility.md, written from docs/compatibility.json, which `python -m tests.matrix` keeps."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tests.versions import FEATURES, LACKING, Feature

DOCS = Path(__file__).parents[1] / "docs"
DATA = DOCS / "compatibility.json"
PAGE = DOCS / "compatibility.md"
TITLES = {"kafka": "Kafka", "rabbitmq": "RabbitMQ", "prometheus": "Prometheus"}
HEAD = """\
# Versions

The exporter's tests on real brokers, on several versions; `make test` itself runs on Kafka 4.4.0, RabbitMQ 3.10 and
Prometheus 2.42. What a version lacks has no series, never a zero; the tests compare whole families, so that a series
too many is seen as well as one too few.

Written by `make test-matrix` (`python -m tests.matrix`) from `docs/compatibility.json`; do not edit.
"""


@dataclass(frozen=True)
class Result:
    """One row: the day, versions asked for and as the servers told them, which tests were run, and their outcomes."""

    day: str
    asked: dict[str, str]
    found: dict[str, str]
    tests: list[str]
    passed: int
    others: dict[str, str]  # test -> outcome, of those that did not simply pass
    note: str = ""  # what a reader has to know of this run

    def mended(self, again: Mapping[str, str]) -> Result:
        """With later outcomes of some of its tests."""
        now = {name: again.get(name, outcome) for name, outcome in self.others.items()}
        now |= {name: outcome for name, outcome in again.items() if outcome != "passed"}
        others = {name: outcome for name, outcome in now.items() if outcome != "passed"}
        return replace(self, passed=self.passed + len(self.others) - len(others), others=others)

    def named(self, outcome: str) -> list[str]:
        """The tests with this outcome, or with one that begins so."""
        return sorted(name for name, found in self.others.items() if found.startswith(outcome))

    def version(self, product: str) -> str:
        """As the server told it, else as it was asked for."""
        return self.found.get(product, self.asked[product])


def load() -> dict[str, Result]:
    """Row -> what was found; nothing where there is no file."""
    if not DATA.exists():
        return {}
    return {number: Result(**raw) for number, raw in json.loads(DATA.read_text()).items()}


def save(known: Mapping[str, Result]) -> None:
    """Writes docs/compatibility.json."""
    DATA.write_text(json.dumps({key: asdict(known[key]) for key in sorted(known)}, indent=1, sort_keys=True) + "\n")


COLUMNS = ("passed", "passed when repeated", "failed", "lacking", "not run here")


def counts(result: Result) -> dict[str, int]:
    """Column -> number of tests."""
    outcomes = ("repeated", "failed", LACKING, "skipped")
    others = {column: len(result.named(outcome)) for column, outcome in zip(COLUMNS[1:], outcomes, strict=True)}
    return {COLUMNS[0]: result.passed, **others}


def table(known: Mapping[str, Result]) -> str:
    """The rows and their counts."""
    heads = [*TITLES.values(), *COLUMNS, "day"]
    lines = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    for _, result in sorted(known.items()):
        cells = [*(result.version(product) for product in TITLES), *map(str, counts(result).values()), result.day]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def page(known: Mapping[str, Result]) -> str:
    """docs/compatibility.md."""
    lines = [HEAD, table(known), "", "## What versions lack", "", "| what | of | there | series that are absent |"]
    lines += ["| --- | --- | --- | --- |", *(_feature(feature) for feature in FEATURES.values())]
    lines += ["", "## Differences that the exporter takes care of", DIFFERENCES.rstrip("\n")]
    for _, result in sorted(known.items()):
        lines += _remarkable(result)
    return "\n".join(lines) + "\n"


def _feature(feature: Feature) -> str:
    there = [f"from {_text(feature.since)}"] if feature.since else []
    there += [f"until {_text(feature.until)}"] if feature.until[0] < 999 else []
    return f"| {feature.what} | {TITLES[feature.product]} | {', '.join(there)} | {feature.absent} |"


def _text(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _remarkable(result: Result) -> list[str]:
    """What did not simply pass."""
    told = {
        "failed": [f"`{name}`" for name in result.named("failed")],
        "passed when repeated (a deadline on a busy machine)": [f"`{name}`" for name in result.named("repeated")],
        "lacking": [f"`{name}`: {result.others[name].removeprefix(LACKING)}" for name in result.named(LACKING)],
        "not run here": [f"`{name}`: {result.others[name]}" for name in result.named("skipped")],
    }
    lines = [
        f"### {what}\n\n" + "\n".join(f"- {name}" for name in names) + "\n" for what, names in told.items() if names
    ]
    title = ", ".join(f"{TITLES[product]} {result.version(product)}" for product in TITLES)
    return [
        "",
        f"## {title}",
        "",
        f"Tests of {', '.join(f'`{path}`' for path in result.tests)}.",
        "",
        *([result.note, ""] if result.note else []),
        *lines,
    ]


DIFFERENCES = """
- RabbitMQ 4.3 writes the counts of its nodes' own pages as floating-point numbers (`24.0`, `1.0e6`): they are read.
- RabbitMQ 4.3 gives a list of small numbers as a text in the JSON of `rabbitmqctl eval`: offsets are asked for as
  values of maps.
- RabbitMQ up to 3.x writes names unescaped on its nodes' own pages, later ones escape them: both are read.
- RabbitMQ 4.3 shows a new quorum queue as empty in its management API for up to 5 s after messages came: the depth is
  taken from the nodes' own pages, which are right at once (unless `node_metrics: false`).
- RabbitMQ 4.x calls a refused login `Not_Authorized`: the kind is `authentication` for both.
- RabbitMQ 4.3 answers 404 for a vhost that the user may not see, earlier ones 401: both are a missing permission.
- Kafka before 4.2 has no share and no Streams groups: none are listed, the collectors succeed.

## Known limits

- RabbitMQ 4.3, while a node is frozen: its peers' `/metrics` answers at once (0.07 s seen), but `/metrics/detailed`,
  where depths come from, takes 10 s (it asks every member who runs), and the management API hangs as in 3.10. With
  `timeout: 11s` the depths of healthy nodes are read all the same. With a shorter one they are withheld, and
  `node_metrics` says timeout, until the frozen node is taken for gone (`net_ticktime`). What the plain page has
  stays: alarms, disk and memory.
"""
