"""Watchdogs and signals end a run where it stands, and a rollback only when they must."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator

import pytest

from drills.engine.errors import Aborted, Left, UndoError
from drills.engine.interruptions import Interruptions

LONG = 20.0  # seconds: a wait that only a signal ends


@pytest.fixture
def signals() -> Iterator[Interruptions]:
    with Interruptions() as made:
        yield made


def stand() -> None:
    threading.Event().wait(LONG)


def press(number: int = signal.SIGINT) -> None:
    """The handler runs before this returns."""
    os.kill(os.getpid(), number)


def under(signals: Interruptions, *seconds: float, then: Callable[[], None] = stand) -> None:
    """Does something under these deadlines, each within the one before."""
    if not seconds:
        return then()
    first, *others = seconds
    with signals.deadline(first, f"deadline {first}"):
        return under(signals, *others, then=then)


SIGNALS = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM", signal.SIGHUP: "the terminal was closed"}


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_aborts(signals: Interruptions, number: int) -> None:
    with pytest.raises(Aborted, match=SIGNALS[signal.Signals(number)]):
        press(number)
    assert signals.undoing


@pytest.mark.parametrize("seconds", [(0.05,), (LONG, 0.05), (0.05, LONG)])
def test_the_nearest_deadline_aborts_what_hangs(signals: Interruptions, seconds: tuple[float, ...]) -> None:
    with pytest.raises(Aborted, match=r"watchdog: deadline 0\.05 took longer"):
        under(signals, *seconds)


def test_an_outer_deadline_holds_after_an_inner_one(signals: Interruptions) -> None:
    def inner_then_stand() -> None:
        under(signals, LONG, then=lambda: None)
        stand()

    with pytest.raises(Aborted, match=r"watchdog: deadline 0\.1 took longer"):
        under(signals, 0.1, then=inner_then_stand)


def test_no_deadline_rings_after_its_block(signals: Interruptions) -> None:
    under(signals, 0.1, then=lambda: None)
    threading.Event().wait(0.2)
    assert signals.reason is None


def test_a_rollback_ends_before_a_signal_counts(signals: Interruptions) -> None:
    done = []

    def roll_back() -> None:
        with signals.rollback():
            press()
            done.append("rolled back")

    with pytest.raises(Aborted, match="Ctrl-C"):
        roll_back()
    assert ["rolled back"] == done


def test_a_second_ctrl_c_leaves_a_rollback(signals: Interruptions) -> None:
    with pytest.raises(Aborted):
        press()
    with pytest.raises(Left), signals.rollback():
        press()


def test_a_second_other_signal_does_not(signals: Interruptions) -> None:
    with pytest.raises(Aborted):
        press()
    with signals.rollback():
        press(signal.SIGTERM)
    assert "Ctrl-C" == signals.reason


def test_a_deadline_within_a_rollback_fails_that_undo_alone(signals: Interruptions) -> None:
    with signals.rollback(), pytest.raises(UndoError, match=r"watchdog: deadline 0\.05"):
        under(signals, 0.05)
    assert signals.reason is None


def test_another_thread_can_end_a_run(signals: Interruptions) -> None:
    threading.Timer(0.05, signals.abort, args=("a stop condition",)).start()
    with pytest.raises(Aborted, match="a stop condition"):
        stand()


def test_handlers_are_as_before_afterwards() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Interruptions():
        assert before != signal.getsignal(signal.SIGINT)
    assert before == signal.getsignal(signal.SIGINT)
