"""Ages from history: the true age is always within the bound, and an age is only given when the bound is small."""

from __future__ import annotations

import json
import random
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from exporter.model.rabbitmq_age import MOST_SAMPLES, SKEW, Estimate, History, Seen, age_of
from tests.mutations import fails_under

STALE = 5.0  # seconds: how old the simulated broker's statistics may be


@dataclass
class Truth:
    """A first-in, first-out queue as it really was, step by step."""

    dead_letters: bool  # arrivals are not counted by `published`
    times: list[float] = field(default_factory=list)
    rows: list[tuple[int, int, int, float | None]] = field(default_factory=list)  # depth, left, published, oldest
    waiting: deque[float] = field(default_factory=deque)
    left: int = 0
    published: int = 0

    def step(self, now: float, arrivals: int, departures: int) -> None:
        for _ in range(arrivals):
            self.waiting.append(now)
        self.published += 0 if self.dead_letters else arrivals
        for _ in range(min(departures, len(self.waiting))):
            self.waiting.popleft()
            self.left += 1
        self.times.append(now)
        self.rows.append((len(self.waiting), self.left, self.published, self.waiting[0] if self.waiting else None))

    def at(self, moment: float) -> tuple[int, int, int, float | None]:
        return self.rows[max(bisect_right(self.times, moment) - 1, 0)]


def polls(seed: int, interval: float, stale: float) -> Iterator[tuple[Truth, History, float]]:
    """A queue with rates that change at random; each statistic of a poll is of its own moment, up to `stale` ago."""
    chance = random.Random(seed)
    truth, history = Truth(dead_letters=chance.random() < 0.4), History()
    now = changes_at = next_poll = 0.0
    inflow = outflow = 0.0
    step = interval / 30
    while now < 120 * interval:
        now += step
        if now >= changes_at:
            changes_at = now + interval * chance.choice([1, 4, 20, 100])
            inflow, outflow = chance.choice([0, 0, 0.05, 1, 10]), chance.choice([0, 0, 0.05, 1, 10, 30])
        whole = [int(rate * step) + (chance.random() < rate * step % 1) for rate in (inflow, outflow)]
        truth.step(now, *whole)
        if now >= next_poll:
            next_poll = now + interval
            depth, left, given, published = (truth.at(now - chance.uniform(0, stale)) for _ in range(4))
            history.add(Seen(now, depth[0], 0, left[1], given[1], published[2]))
            yield truth, history, now


def check_the_true_age_is_within_the_bound(seed: int, interval: float, stale: float) -> None:
    for truth, history, now in polls(seed, interval, stale):
        estimate = history.estimate(arrivals_counted=not truth.dead_letters, departures_by_consumers=True)
        # as of the statistics: what was oldest at some moment since the oldest of them
        earliest, latest = truth.at(now - stale)[3], truth.at(now)[3]
        age = None if estimate is None else age_of(estimate, now, interval)
        if age is None or earliest is None or latest is None:
            continue
        assert now - latest <= sum(age), (seed, now)
        assert age[0] - age[1] <= now - earliest, (seed, now)


@pytest.mark.parametrize("interval", [2.0, 15.0, 60.0])
@pytest.mark.parametrize("stale", [0.0, STALE])
@pytest.mark.parametrize("seed", range(4))
def test_the_true_age_is_within_the_bound(seed: int, interval: float, stale: float) -> None:
    check_the_true_age_is_within_the_bound(seed, interval, stale)


def test_statistics_of_different_moments_are_not_taken_as_one() -> None:
    fails_under("statistics_of_one_moment", every_seed)


def every_seed() -> None:
    for seed in range(4):
        check_the_true_age_is_within_the_bound(seed, 2.0, STALE)


@pytest.mark.parametrize("seed", range(4))
def test_most_ages_are_known_once_the_queue_was_empty(seed: int) -> None:
    asked = told = 0
    for truth, history, now in polls(seed, 15.0, STALE):
        estimate = history.estimate(not truth.dead_letters, True)
        if estimate is not None and history.after is not None:
            asked += 1
            told += age_of(estimate, now, 15.0) is not None
    assert told >= 0.9 * asked


def test_memory_is_bounded() -> None:
    history = History()
    for poll in range(3_000):  # half a day of a backlog that grows and is worked on
        history.add(Seen(poll * 15.0, 1 + 10 * poll, 3, poll, poll, 11 * poll))
    assert len(history.samples()) <= MOST_SAMPLES


def seen(at: float, depth: int, **counters: int) -> Seen:
    return Seen(at, depth, 0, **{"departed": 0, "delivered": 0, "published": 0, **counters})


def told(history: History, at: float, arrivals_counted: bool = True) -> tuple[float, float] | None:
    estimate = history.estimate(arrivals_counted, True)
    return None if estimate is None else age_of(estimate, at, 15.0)


def test_a_message_that_came_between_two_polls_is_as_old_as_that() -> None:
    history = History()
    history.add(seen(0, 0))
    history.add(seen(15, 1, published=1))
    assert Estimate(-SKEW, 15.0) == history.estimate(True, True)
    for poll in range(2, 41):
        history.add(seen(15.0 * poll, 1, published=1))
    assert Estimate(-SKEW, 15.0) == history.estimate(True, True)
    assert (600 - 7.5 + SKEW / 2, 7.5 + SKEW / 2) == told(history, 600)


def test_a_queue_that_was_never_seen_empty_has_no_age() -> None:
    history = History()
    for poll in range(10):
        history.add(seen(15.0 * poll, 5, published=5))
    assert None is told(history, 135)


def test_an_empty_queue_has_no_estimate() -> None:
    history = History()
    history.add(seen(0, 0))
    assert None is history.estimate(True, True)


def test_the_age_restarts_when_what_was_there_has_left() -> None:
    history = History()
    history.add(seen(0, 0))
    history.add(seen(15, 10, published=10))
    history.add(seen(30, 10, published=10))
    history.add(seen(45, 10, published=20, departed=10, delivered=10))
    assert Estimate(15 - SKEW, 45.0) == history.estimate(True, True)


def test_dead_letters_that_arrive_are_not_taken_for_departures() -> None:
    """Depth grows without `published`: what was oldest stays so."""
    history = History()
    history.add(seen(0, 0))
    for poll in range(1, 20):
        history.add(seen(15.0 * poll, poll))
    assert Estimate(-SKEW, 15.0) == history.estimate(arrivals_counted=False, departures_by_consumers=True)


def test_expired_messages_show_by_what_was_published_beyond_the_depth() -> None:
    history = History()
    history.add(seen(0, 0))
    for poll in range(1, 20):
        history.add(seen(15.0 * poll, 10, published=10 * poll))
    estimate = history.estimate(arrivals_counted=True, departures_by_consumers=False)
    assert estimate is not None
    assert estimate.after is not None
    assert estimate.after >= 15.0 * 19 - 3 * 15 - SKEW


def test_interrupted_counters_leave_a_lower_bound_only() -> None:
    history = History()
    history.add(seen(0, 0))
    history.add(seen(15, 5, published=5))
    for poll in range(2, 6):
        history.add(Seen(15.0 * poll, 5, 0, 0, 0, 5, epoch=1))
    assert Estimate(-SKEW, 45.0) == history.estimate(True, True)


def test_polls_without_counters_do_no_harm() -> None:
    history = History()
    history.add(seen(0, 0))
    history.add(seen(15, 1, published=1))
    history.add(Seen(30, 1, 0))
    history.add(seen(45, 1, published=1))
    history.add(seen(60, 1, published=1))
    assert Estimate(-SKEW, 15.0) == history.estimate(True, True)


def test_a_poll_that_is_not_later_is_left_out() -> None:
    history = History()
    history.add(seen(15, 5))
    history.add(seen(15, 7))
    history.add(seen(10, 7))
    assert [5.0] == [sample.depth for sample in history.samples()]


def test_history_survives_a_restart() -> None:
    history = History()
    history.add(seen(0, 0))
    history.add(Seen(15, 1, 0))
    again = History.restored(json.loads(json.dumps(history.state())))
    assert history.estimate(True, True) == again.estimate(True, True)
    assert history.state() == again.state()


@pytest.mark.parametrize("broken", [[], [0.0], [0.0, [1.0]], ["x", []], [None, [1.0, "x"]], [0, [float("nan")] * 12]])
def test_a_broken_history_is_refused(broken: list[object]) -> None:
    with pytest.raises((ValueError, TypeError)):
        History.restored(broken)
