"""What a run of the matrix is read as, merged into, and told as."""

from __future__ import annotations

from pathlib import Path

import pytest

from drills.lab.record import Settings
from tests import compatibility, matrix, versions
from tests.compatibility import Result

REPORT = """\
<testsuites><testsuite name="pytest"><properties><property name="rabbitmq" value="4.3.6"/></properties>
<testcase classname="tests.broker.a" name="test_good"/>
<testcase classname="tests.broker.a" name="test_bad[x y]"><failure message="no"/></testcase>
<testcase classname="tests.broker.a" name="test_unmade"><error message="no"/></testcase>
<testcase classname="tests.broker.a" name="test_end"/>
<testcase classname="tests.broker.a" name="test_end"><error message="at teardown"/></testcase>
<testcase classname="tests.broker.a" name="test_share"><skipped message="lacking: share_groups"/></testcase>
<testcase classname="tests.broker.a" name="test_root"><skipped message="needs root"/></testcase>
</testsuite></testsuites>
"""
ASKED = {"kafka": "4.4.0", "rabbitmq": "4.3", "prometheus": "3"}


def test_a_report_is_read_test_by_test(tmp_path: Path) -> None:
    (tmp_path / "1.xml").write_text(REPORT)
    expected = {
        "tests/broker/a.py::test_bad[x y]": "failed",
        "tests/broker/a.py::test_end": "failed",
        "tests/broker/a.py::test_good": "passed",
        "tests/broker/a.py::test_root": "skipped: needs root",
        "tests/broker/a.py::test_share": "lacking: share_groups",
        "tests/broker/a.py::test_unmade": "failed",
    }
    assert matrix.Run(expected, {"rabbitmq": "4.3.6"}) == matrix.read(tmp_path / "1.xml")


def test_what_failed_is_run_once_more_and_both_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def runs(_: matrix.Row, name: str, tests: list[str]) -> matrix.Run:
        asked.append(list(tests))
        outcomes = {"a": "passed", "b": "failed", "c": "failed"}
        return matrix.Run(outcomes if len(asked) == 1 else {"b": "passed", "c": "failed"}, {"kafka": name})

    monkeypatch.setattr(matrix, "_pytest", runs)
    done = matrix.run(matrix.ROWS[0], 1, ["all"])
    assert [["all"], ["b", "c"]] == asked
    assert matrix.Run({"a": "passed", "b": "repeated", "c": "failed"}, {"kafka": "1-again"}) == done


def test_later_outcomes_of_some_tests_are_merged() -> None:
    before = Result("2026-11-30", ASKED, {}, ["tests"], 2, {"a": "failed", "b": "failed", "c": "lacking: x"})
    after = before.mended({"a": "passed", "b": "repeated", "d": "passed"})
    assert Result("2026-11-30", ASKED, {}, ["tests"], 3, {"b": "repeated", "c": "lacking: x"}) == after


def test_a_row_tells_versions_counts_and_what_did_not_simply_pass() -> None:
    others = {"t::a": "failed", "t::b": "repeated", "t::c": "lacking: share_groups", "t::d": "skipped: no root"}
    text = compatibility.page({"1": Result("2026-11-30", ASKED, {"rabbitmq": "4.3.6"}, ["tests"], 7, others)})
    assert "| 4.4.0 | 4.3.6 | 3 | 7 | 1 | 1 | 1 | 1 | 2026-11-30 |" in text
    assert "- `t::c`: share_groups" in text


@pytest.mark.parametrize(
    ("feature", "kafka", "rabbitmq", "wanted"),
    [
        ("share_groups", "4.2.0", "3.10", True),
        ("share_groups", "3.9.2", "3.10", False),
        ("partitions", "4.4.0", "3.10", True),
        ("partitions", "4.4.0", "4.0", True),
        ("partitions", "4.4.0", "4.3", False),
    ],
)
def test_a_version_has_what_came_before_it_and_lacks_what_went(
    feature: str, kafka: str, rabbitmq: str, wanted: bool
) -> None:
    assert wanted is versions.has(feature, Settings(kafka_version=kafka, rabbitmq_version=rabbitmq))


def test_the_matrix_covers_each_version() -> None:
    rows = {(row.kafka_version, row.rabbitmq_version, row.prometheus_version) for row in matrix.ROWS}
    assert {"3.9.2", "4.4.0"} == {kafka for kafka, _, _ in rows}
    assert {"3.10", "4.0", "4.3"} == {rabbitmq for _, rabbitmq, _ in rows}
    assert {"2.42", "3"} == {prometheus for _, _, prometheus in rows}


def test_the_page_is_written_from_the_data() -> None:
    assert compatibility.page(compatibility.load()) == compatibility.PAGE.read_text()


@pytest.mark.parametrize("row", matrix.ROWS, ids=lambda row: f"{row.kafka_version}-{row.rabbitmq_version}")
def test_every_row_chooses_all_that_can_be_chosen(row: matrix.Row) -> None:
    assert set(versions.CHOSEN.values()) == set(row.environment)
