"""Accounts of collectors, and results kept between runs."""

from __future__ import annotations

import pytest

from exporter.clients.kafka import recorder
from exporter.clients.kafka.failures import Failure
from exporter.clients.kafka.recorder import Kept, Recorder
from exporter.model.common import Kind, Problem


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1000.0]
    monkeypatch.setattr(recorder.time, "monotonic", lambda: now[0])
    return now


def test_a_result_is_kept_for_three_intervals_and_then_withheld(clock: list[float]) -> None:
    kept: Kept[str] = Kept(10.0, 1.0)
    kept.put("a", "value")
    clock[0] += 30.0
    assert (kept.get("a"), kept.values()) == ("value", {"a": "value"})
    clock[0] += 0.1
    assert (kept.get("a"), kept.values()) == (None, {})


def test_where_polls_are_slower_than_the_interval_three_polls_count(clock: list[float]) -> None:
    kept: Kept[str] = Kept(1.0, 15.0)
    kept.put("a", "value")
    clock[0] += 45.0
    assert kept.get("a") == "value"


def test_a_collector_is_due_at_first_and_then_at_its_pace(clock: list[float]) -> None:
    kept: Kept[str] = Kept(10.0, 1.0)
    assert [kept.due(), kept.due()] == [True, False]
    clock[0] += 10.0
    assert kept.due()


def test_what_is_gone_does_not_linger(clock: list[float]) -> None:
    kept: Kept[str] = Kept(10.0, 1.0)
    kept.put("a", "x")
    kept.put("b", "y")
    kept.keep_only({"b"})
    assert kept.values() == {"b": "y"}


def test_a_problem_is_a_failure_unless_the_broker_just_cannot() -> None:
    with Recorder("offsets", 15.0) as run:
        run.problem("broker 1", Failure(Kind.UNSUPPORTED, "too old"))
        run.skip("abandoned_group", 2)
        run.skip("nothing", 0)
    assert (run.run().success, run.run().skipped) == (True, {"abandoned_group": 2})
    run.problem("broker 2", Failure(Kind.TIMEOUT, "late"))
    assert run.run().success is False
    assert run.run().problems == (
        Problem(Kind.UNSUPPORTED, "broker 1", "too old"),
        Problem(Kind.TIMEOUT, "broker 2", "late"),
    )
