"""Counters that only grow, and arrivals that no broker counter shows."""

from __future__ import annotations

from exporter.model.rabbitmq import Counters
from exporter.model.rabbitmq_age import SKEW
from exporter.model.rabbitmq_counters import Arrivals, Grown
from exporter.model.rabbitmq_listing import RawCounters
from tests.mutations import fails_under


def shown(*published: int | None) -> list[int | None]:
    grown, found = Grown(), []
    for count in published:
        raw = RawCounters(published=count)
        grown = grown.then(raw)
        found.append(grown.shown(raw).published)
    return found


def check_a_counter_never_goes_down() -> None:
    assert [100, 120, 120, 130] == shown(100, 120, 50, 60)


def test_a_counter_never_goes_down() -> None:
    check_a_counter_never_goes_down()
    fails_under("counters_as_they_are", check_a_counter_never_goes_down)


def test_a_counter_that_was_not_read_is_unknown_and_goes_on() -> None:
    assert [None, 100, None, 130] == shown(None, 100, None, 130)


def test_an_interruption_is_noted() -> None:
    grown = Grown().then(RawCounters(published=5)).then(RawCounters(published=3))
    assert 1 == grown.epoch
    assert Counters(published=5) == grown.shown(RawCounters(published=3))


def arrived(
    first: tuple[int, int], *polls: tuple[int, int], from_nothing: bool = False, apart: float = SKEW + 1
) -> list[int]:
    """Arrivals shown after each poll of (depth, departures); polls are so many seconds `apart`."""
    arrivals = Arrivals.begin(*first, from_nothing=from_nothing)
    found = [arrivals.count]
    for number, (depth, departed) in enumerate(polls, 1):
        arrivals = arrivals.then(depth, departed, number * apart)
        found.append(arrivals.count)
    return found


def test_what_was_there_at_the_start_has_not_arrived_since() -> None:
    assert [0, 2] == arrived((5, 100), (7, 100))


def test_what_a_new_queue_holds_has_arrived_since() -> None:
    assert [5] == arrived((5, 0), from_nothing=True)


def test_departures_do_not_undo_arrivals() -> None:
    assert [0, 3, 3, 3, 4] == arrived((0, 0), (3, 0), (0, 3), (0, 3), (1, 3))


def test_a_departure_that_depth_shows_first_is_no_arrival() -> None:
    assert [0, 0, 0] == arrived((100, 0), (0, 0), (0, 100))


def test_a_departure_that_counters_show_first_is_no_arrival() -> None:
    assert [0, 0, 0, 0] == arrived((100, 0), (100, 100), (0, 100), (0, 100))


def test_a_depth_that_stays_old_for_several_polls_makes_no_arrivals() -> None:
    old = [(3, 3)] * 5
    assert [3, *[3] * 5, 3, 3] == arrived((3, 0), *old, (0, 3), (2, 3), from_nothing=True, apart=1.0)
    later = [(2, 3)] * 10
    assert 5 == arrived((3, 0), *old, (0, 3), *later, from_nothing=True, apart=1.0)[-1]


def test_arrivals_under_way_show_a_poll_later() -> None:
    assert [0, 0, 10, 20, 20] == arrived((10, 0), (10, 10), (10, 20), (10, 30), (0, 40))
