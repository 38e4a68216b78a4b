"""The log says each change once, in one line, whatever the names hold."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from dataclasses import replace

import pytest

from exporter.log import StateLog, setup, tell
from exporter.model.common import ClusterSnapshot, CollectorRun, Kind, Problem

DEAD = Problem(Kind.TIMEOUT, "broker 12", "broker 12 did not answer within 5.0 s; is it paused?")
DENIED = Problem(Kind.AUTHORIZATION, "group g", "no right to read its offsets; grant Describe on the group")
OLD = Problem(Kind.UNSUPPORTED, "log_dirs", "this version does not say how much space is left")


@pytest.fixture
def lines() -> Iterator[Lines]:
    before = logging.getLogger().handlers[:], logging.getLogger().level
    yield Lines()
    logging.getLogger().handlers[:], level = before
    logging.getLogger().setLevel(level)


class Lines:
    """What has been logged since last asked, without the time."""

    def __init__(self, form: str = "text") -> None:
        self.stream = io.StringIO()
        setup("info", form, self.stream)

    def new(self) -> list[str]:
        text = self.stream.getvalue()
        self.stream.seek(0)
        self.stream.truncate()
        return [line[9:] for line in text.splitlines()]


def snapshot(*problems: Problem, at: float = 1000.0, collector: str = "groups") -> ClusterSnapshot:
    run = CollectorRun(collector, not problems, at, 0.1, 15.0, problems)
    return ClusterSnapshot("orders", "kafka", at, 15.0, (run,))


def test_a_problem_is_told_once_and_its_end_once(lines: Lines) -> None:
    states = StateLog()
    states.observe(snapshot())
    assert ["info    kafka/orders: first poll done; everything was read"] == lines.new()
    states.observe(snapshot(DEAD, at=1015.0))
    told = "warning kafka/orders: broker 12 did not answer within 5.0 s; is it paused? (groups: timeout)"
    assert [told] == lines.new()
    states.observe(snapshot(DEAD, at=1030.0))
    states.observe(snapshot(DEAD, at=1045.0))
    assert [] == lines.new()
    states.observe(snapshot(at=1060.0))
    assert ["info    kafka/orders: recovered: broker 12, after 45 s (timeout)"] == lines.new()
    states.observe(snapshot(at=1075.0))
    assert [] == lines.new()


def test_a_changed_reason_is_told_and_a_changed_number_is_not(lines: Lines) -> None:
    states = StateLog()
    states.observe(snapshot(DEAD))
    lines.new()
    states.observe(snapshot(replace(DEAD, detail=DEAD.detail.replace("5.0", "4.9"))))
    assert [] == lines.new()
    states.observe(snapshot(replace(DEAD, kind=Kind.TLS, detail="certificate expired")))
    assert ["warning kafka/orders: broker 12: certificate expired (groups: tls)"] == lines.new()


def test_an_unsupported_feature_is_no_warning(lines: Lines) -> None:
    StateLog().observe(snapshot(OLD, collector="log_dirs"))
    assert [
        "info    kafka/orders: log_dirs: this version does not say how much space is left (log_dirs: unsupported)",
        "info    kafka/orders: first poll done; failing: log_dirs",
    ] == lines.new()


def test_many_problems_at_once_are_counted_and_not_listed(lines: Lines) -> None:
    states = StateLog()
    many = [Problem(Kind.TIMEOUT, f"group {number}", "no answer") for number in range(10_000)]
    states.observe(snapshot())
    lines.new()
    states.observe(snapshot(DENIED, *many))
    told = lines.new()
    assert 7 == len(told)
    assert "warning kafka/orders: 9995 more like this (groups: timeout)" == told[-1]
    states.observe(snapshot(DENIED))
    assert "info    kafka/orders: recovered: 9995 more" == lines.new()[-1]


def test_a_problem_of_several_collectors_is_one_line(lines: Lines) -> None:
    runs = tuple(CollectorRun(name, False, 0.0, 0.1, 15.0, (DEAD,)) for name in ("groups", "offsets"))
    states = StateLog()
    states.observe(snapshot())
    lines.new()
    states.observe(replace(snapshot(), runs=runs))
    told = "warning kafka/orders: broker 12 did not answer within 5.0 s; is it paused? (groups, offsets: timeout)"
    assert [told] == lines.new()
    states.observe(replace(snapshot(at=1010.0), runs=tuple(replace(run, problems=()) for run in runs)))
    assert ["info    kafka/orders: recovered: broker 12, after 10 s (timeout)"] == lines.new()


def test_a_collector_that_did_not_run_keeps_its_problems(lines: Lines) -> None:
    states = StateLog()
    states.observe(snapshot(DENIED))
    lines.new()
    states.observe(replace(snapshot(), runs=()))
    states.observe(snapshot(DENIED))
    assert [] == lines.new()


def test_names_cannot_forge_lines(lines: Lines) -> None:
    StateLog().observe(snapshot(Problem(Kind.TIMEOUT, "group a\n12:00:00 error x\x1b[31m\u2028", "no answer")))
    assert (
        "warning kafka/orders: group a\\n12:00:00 error x\\x1b[31m\\u2028: no answer (groups: timeout)"
        == lines.new()[0]
    )


def test_stale_data_is_told_when_it_becomes_stale_and_when_it_is_fresh_again(lines: Lines) -> None:
    states = StateLog()
    for fresh in (False, True, True, False, False, True):
        states.observe_freshness({"orders": fresh})
    assert [
        "warning orders: no fresh data for three intervals: its series are withheld until a poll ends",
        "info    orders: recovered: has fresh data",
    ] == lines.new()


def test_a_forgotten_cluster_starts_anew(lines: Lines) -> None:
    states = StateLog()
    states.observe(snapshot(DENIED))
    first = lines.new()
    states.forget(["orders"])
    states.observe(snapshot(DENIED))
    assert first == lines.new()


def test_json_lines_carry_the_fields() -> None:
    before = logging.getLogger().handlers[:]
    lines = Lines("json")
    try:
        StateLog().observe(snapshot(DENIED))
        first = json.loads(lines.stream.getvalue().splitlines()[0])
    finally:
        logging.getLogger().handlers[:] = before
    assert first.pop("time").endswith("+00:00")
    assert {
        "level": "warning",
        "logger": "exporter.log",
        "cluster": "orders",
        "collectors": ["groups"],
        "kind": "authorization",
        "item": "group g",
        "message": "group g: no right to read its offsets; grant Describe on the group (groups: authorization)",
    } == first


def test_tracebacks_are_kept_and_indented(lines: Lines) -> None:
    try:
        raise ValueError("boom")
    except ValueError:
        logging.getLogger("exporter.poll").exception("a fault")
    told = lines.stream.getvalue().splitlines()
    assert told[0].endswith("error   a fault")
    assert told[1] == "    Traceback (most recent call last):"
    assert told[-1] == "    ValueError: boom"


def test_libraries_that_log_each_poll_are_quiet(lines: Lines) -> None:
    logging.getLogger("apscheduler.scheduler").warning("skipped: maximum number of running instances reached")
    tell(logging.DEBUG, "x", "not at level info")
    assert [] == lines.new()
