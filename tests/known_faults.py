"""docs/known-faults.md: public reports of faults, and the tests that show that ours has them not.

`python -m tests.known_faults --write`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from tests import proof
from tests.reports import cost, rabbitmq, series, values
from tests.reports.report import REAL, Report
from tests.written_page import write_or_print

PAGE = proof.ROOT / "docs" / "known-faults.md"
THEMES = {
    "Wrong values": values.REPORTS,
    "Series that stay, vanish or are there twice": series.REPORTS,
    "Protocols, rights and cost": cost.REPORTS,
    "RabbitMQ": rabbitmq.REPORTS,
}
REPORTS = tuple(report for reports in THEMES.values() for report in reports)
HEAD = """\
# Known faults of exporters, and what this one does

People have reported these faults of exporters, of brokers' own metrics, and of what reads them. Each is a kind of
fault; a test makes it happen and expects the right value, which was worked out by hand. Where a report's thread asks
for something else than our promises do (keep the last value, clamp), the promises win.

"On real brokers" means that the brokers of a lab were brought into that state. Where that could not be done, it is
said what was tried, what came of it, and what stands in its place.

Written by `python -m tests.known_faults --write` from `tests/reports/`; do not edit.
"""


def page() -> str:
    """docs/known-faults.md."""
    lines = [HEAD, "| report | symptom | runs on |", "| --- | --- | --- |"]
    lines += [f"| [{one.number}](#report-{one.number}) | {one.symptom} | {_short(one)} |" for one in REPORTS]
    for theme, reports in THEMES.items():
        lines += ["", f"## {theme}"]
        for report in reports:
            lines += ["", *_section(report)]
    return "\n".join(lines) + "\n"


def _short(report: Report) -> str:
    return (
        report.runs_on if report.runs_on == REAL else report.runs_on.partition(";")[0].partition(",")[0] + ", see there"
    )


def _section(report: Report) -> Iterator[str]:
    yield f"### Report {report.number}"
    yield ""
    yield f"**{report.symptom}** " + ", ".join(f"[{name}]({url})" for name, url in report.urls.items())
    yield ""
    yield f"- Others: {report.others}"
    yield f"- Here: {report.ours}"
    yield f"- Tests: {'; '.join(test.link for test in tests_of(report))}"
    yield f"- Runs on {report.runs_on if report.runs_on.endswith('.') else report.runs_on + '.'}"


def tests_of(report: Report) -> list[proof.Test]:
    """The tests that the report names, whether they exist or not."""
    pairs = (name.split("::") for name in report.tests)
    return [proof.Test(f"tests/{path}", name) for path, name in pairs]


if __name__ == "__main__":
    sys.exit(write_or_print(PAGE, page, sys.argv[1:]))
