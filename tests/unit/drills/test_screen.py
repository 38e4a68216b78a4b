"""What a person sees of a run: a live line on a terminal, plain lines in a pipe."""

from __future__ import annotations

import io
import re

from drills.engine.screen import Screen


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


class Broken(io.StringIO):
    """A pipe whose reader is gone."""

    def write(self, text: str) -> int:  # noqa: ARG002
        raise BrokenPipeError


def play(screen: Screen) -> None:
    with screen:
        screen.phase("case", "inject", 60)
        screen.live({"lag": 3})
        screen.waiting({"it bites": "not yet"}, 20)
        screen.line("done")


def test_a_pipe_gets_plain_lines() -> None:
    out = io.StringIO()
    play(Screen(out))
    assert ["case: inject", "done"] == [re.sub(r"^ *[\d.]+ s  ", "", line) for line in out.getvalue().splitlines()]


def test_a_terminal_shows_phase_time_left_values_and_what_is_waited_for() -> None:
    out = Terminal()
    play(Screen(out))
    live = out.getvalue().split("\r\x1b[K")
    assert any(
        re.search(r"s  case: inject · (60|59) s left · lag=3 · it bites: not yet \((20|19) s\)", one) for one in live
    )
    assert "" == live[-1]  # nothing stays of the live line


def test_a_loud_line_stands_between_bars() -> None:
    out = io.StringIO()
    Screen(out).loud("ROLLBACK FAILED")
    assert ["!" * 78, "ROLLBACK FAILED", "!" * 78] == out.getvalue().split("\n")[1:4]


def test_a_reader_that_is_gone_ends_nothing() -> None:
    play(Screen(Broken()))
