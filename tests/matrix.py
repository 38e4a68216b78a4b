"""The exporter's broker tests on several versions: `python -m tests.matrix [--rows 1,3] [--only PATH ...]`.

Each row is one pytest run on a lab of these versions. A test that fails is repeated once, since a busy machine breaks
deadlines, and both outcomes are told. A row that fails does not stop the others. What was found is merged into
docs/compatibility.json, from which docs/compatibility.md is written.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

from tests import compatibility
from tests.compatibility import Result
from tests.versions import CHOSEN, LACKING

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build" / "matrix"
EVERY = ("tests/broker/kafka", "tests/broker/rabbitmq", "tests/broker/exporter")


@dataclass(frozen=True)
class Row:
    """One combination, and the tests that say something new about it."""

    kafka_version: str
    rabbitmq_version: str
    prometheus_version: str
    tests: tuple[str, ...] = EVERY
    profile: str = "plain"

    @property
    def environment(self) -> dict[str, str]:
        """What chooses these versions."""
        return {name: getattr(self, field) for field, name in CHOSEN.items()}


ROWS = (
    Row("4.4.0", "3.10", "2.42"),
    Row("3.9.2", "4.3", "3"),
    Row("4.4.0", "4.0", "3", ("tests/broker/rabbitmq", "tests/broker/exporter")),  # Kafka's own are in the first row
)


@dataclass(frozen=True)
class Run:
    """Test -> outcome of one pytest run, and what the brokers said they are."""

    outcomes: dict[str, str]  # passed, failed, or `lacking: FEATURE`, or `skipped: REASON`
    found: dict[str, str]


def run(row: Row, number: int, tests: Sequence[str]) -> Run:
    """Runs tests of a row, and once more what failed."""
    first = _pytest(row, f"{number}", tests)
    failed = sorted(name for name, outcome in first.outcomes.items() if outcome == "failed")
    again = _pytest(row, f"{number}-again", failed) if failed else Run({}, {})
    repeated = {name: "repeated" for name in failed if again.outcomes.get(name) == "passed"}
    return Run({**first.outcomes, **repeated}, {**first.found, **again.found})


def result_of(row: Row, done: Run, earlier: Result | None) -> Result:
    """What is known of a row now; `earlier` is what it was when only some of its tests were run."""
    if earlier is not None:
        return replace(earlier.mended(done.outcomes), found={**earlier.found, **done.found})
    asked = {field.removesuffix("_version"): getattr(row, field) for field in CHOSEN}
    others = {name: outcome for name, outcome in done.outcomes.items() if outcome != "passed"}
    day = datetime.now(UTC).strftime("%Y-%m-%d")
    return Result(day, asked, done.found, list(row.tests), len(done.outcomes) - len(others), others)


def _pytest(row: Row, name: str, tests: Sequence[str]) -> Run:
    BUILD.mkdir(parents=True, exist_ok=True)
    report, log = BUILD / f"{name}.xml", BUILD / f"{name}.log"
    report.unlink(missing_ok=True)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--tb=short",
        f"--junitxml={report}",
        "-o",
        "junit_family=xunit1",
        *tests,
    ]
    print(f"row {name}: {' '.join(row.environment.values())}, {len(tests)} arguments; log in {log}", flush=True)
    with log.open("wb") as out:
        kept = {key: value for key, value in os.environ.items() if key != "MQ_TEST_LAB"}
        done = subprocess.run(command, cwd=ROOT, env={**kept, **row.environment}, stdout=out, stderr=out, check=False)
    if not report.exists():
        print(f"row {name}: pytest ended with {done.returncode} and no report, see {log}", flush=True)
        return Run({}, {})
    return read(report)


def read(report: Path) -> Run:
    """What a JUnit report says."""
    suite = next(ElementTree.parse(report).iter("testsuite"))
    found = {str(one.get("name")): str(one.get("value")) for one in suite.iter("property")}
    return Run(dict(_outcomes(suite)), found)


def _outcomes(suite: ElementTree.Element) -> Iterator[tuple[str, str]]:
    seen: dict[str, str] = {}
    for case in suite.iter("testcase"):
        if case.get("classname") is None:
            continue  # of a run that was interrupted
        name = f"{str(case.get('classname')).replace('.', '/')}.py::{case.get('name')}"
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            seen[name] = "failed"
        elif skipped is not None:
            reason = str(skipped.get("message"))
            seen[name] = reason if reason.startswith(LACKING) else f"skipped: {reason}"
        else:
            seen.setdefault(name, "passed")  # a test that passed and whose end failed is there twice
    return iter(sorted(seen.items()))


def main(arguments: Sequence[str]) -> int:
    """Runs the rows; 1 when a test failed twice or a row has no outcome."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    numbers = range(1, len(ROWS) + 1)
    parser.add_argument("--rows", type=lambda text: [int(one) for one in text.split(",")], default=list(numbers))
    parser.add_argument("--only", nargs="*", help="tests instead of the row's own; merged into its earlier outcomes")
    parser.add_argument("--write", action="store_true", help="run nothing, write the page from what is known")
    chosen = parser.parse_args(arguments)
    known = compatibility.load()
    good = True
    for number in [] if chosen.write else chosen.rows:
        row = ROWS[number - 1]
        done = run(row, number, chosen.only or row.tests)
        result = result_of(row, done, known.get(str(number)) if chosen.only else None)
        known[str(number)] = result
        compatibility.save(known)
        good = good and bool(done.outcomes) and not result.named("failed")
    print(compatibility.table(known))
    compatibility.PAGE.write_text(compatibility.page(known))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
