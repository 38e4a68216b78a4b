"""A slow call runs beside the polls: none of them waits for it, calls never overlap, old values are withheld."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from exporter.clients.rabbitmq import background
from exporter.clients.rabbitmq.background import Background
from exporter.clients.rabbitmq.failures import Failure, RequestError
from exporter.model.common import Kind

DEADLINE = 10.0


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as made:
        yield made


def test_the_first_value_comes_with_the_poll_that_asked(pool: ThreadPoolExecutor) -> None:
    calling: Background[int] = Background("ages", "queues", pool, 1000.0)
    calling.start(lambda: 7)
    assert 7 == calling.take(DEADLINE)
    assert calling.run is not None
    assert (True, 1000.0) == (calling.run.success, calling.run.interval_seconds)


def test_a_poll_takes_the_last_value_while_a_slow_call_runs_and_calls_never_overlap(pool: ThreadPoolExecutor) -> None:
    calling: Background[int] = Background("ages", "queues", pool, 0.0)
    release, begun = threading.Event(), threading.Semaphore(0)

    def slow() -> int:
        begun.release()
        assert release.wait(DEADLINE)
        return 8

    calling.start(lambda: 7)
    assert 7 == calling.take(DEADLINE)
    calling._good_until = float("inf")  # an interval of 0 would end at once
    calling.start(slow)
    calling.start(slow)
    assert begun.acquire(timeout=DEADLINE)
    assert 7 == calling.take(0.0)
    release.set()
    assert 8 == calling.take(DEADLINE)
    assert not begun.acquire(blocking=False), "the second start found a call running"


def test_a_failure_is_in_the_run_and_leaves_the_last_value(pool: ThreadPoolExecutor) -> None:
    calling: Background[int] = Background("ages", "queues", pool, 1000.0)
    calling.start(lambda: 7)
    calling.take(DEADLINE)

    def failing() -> int:
        raise RequestError(Failure(Kind.TIMEOUT, "late"))

    calling._started = float("-inf")  # an interval has passed
    calling.start(failing)
    assert 7 == calling.take(DEADLINE)
    assert calling.run is not None
    assert (False, ["late"]) == (calling.run.success, [problem.detail for problem in calling.run.problems])


def test_a_value_older_than_three_intervals_is_withheld(
    pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr(background.time, "monotonic", lambda: now[0])
    calling: Background[int] = Background("ages", "queues", pool, 10.0)
    calling.start(lambda: 7)
    assert 7 == calling.take(DEADLINE)
    now[0] += 29.9
    assert 7 == calling.take(0.0)
    now[0] += 0.2
    assert calling.take(0.0) is None


def test_a_fault_of_ours_is_raised_once(pool: ThreadPoolExecutor) -> None:
    calling: Background[int] = Background("ages", "queues", pool, 1000.0)
    calling.start(lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        calling.take(DEADLINE)
    assert calling.take(0.0) is None
