"""The page of known faults is current, whole, and names tests that exist."""

from __future__ import annotations

import re

import pytest

from tests import known_faults, proof
from tests.reports.report import REAL, Report

EXISTING = proof.tests_of(proof.ROOT / "tests")
OWN = proof.BROKER / "reports"
LINK = re.compile(r"https://github\.com/[\w.-]+/[\w.-]+/issues/[1-9]\d*")


def test_the_page_is_what_the_table_says() -> None:
    """When it is not: `python -m tests.known_faults --write`."""
    assert known_faults.page().splitlines() == known_faults.PAGE.read_text().splitlines()


def test_all_54_reports_are_there_in_order() -> None:
    assert [*range(1, 55)] == [report.number for report in known_faults.REPORTS]


@pytest.mark.parametrize("report", known_faults.REPORTS, ids=lambda report: str(report.number))
def test_a_report_names_tests_that_exist_and_one_of_them_on_brokers(report: Report) -> None:
    named = known_faults.tests_of(report)
    assert [] == [test for test in named if test not in EXISTING]
    assert any((proof.ROOT / test.path).is_relative_to(proof.BROKER) for test in named)
    assert len(named) == len(set(named))


@pytest.mark.parametrize("report", known_faults.REPORTS, ids=lambda report: str(report.number))
def test_a_report_says_all_that_a_reader_needs(report: Report) -> None:
    assert report.urls
    assert [] == [url for url in report.urls.values() if not LINK.fullmatch(url)]
    assert all(text.endswith(".") for text in (report.symptom, report.others, report.ours))
    assert report.runs_on == REAL or len(report.runs_on) > 100, "what was tried, and what came of it?"


def test_every_test_of_a_report_stands_in_the_table() -> None:
    named = {test for report in known_faults.REPORTS for test in known_faults.tests_of(report)}
    assert set() == proof.tests_of(OWN).keys() - named


def test_every_file_of_them_has_a_check_that_was_seen_to_fail() -> None:
    breaks = proof.mutations().keys()
    caught = {test.path for test, words in proof.tests_of(OWN).items() if words & breaks}
    assert {str(path.relative_to(proof.ROOT)) for path in OWN.glob("test_*.py")} == caught
