"""The table of mutants: each criterion has one, what was run was caught, and the page says what was not run."""

from __future__ import annotations

import pytest

from drills.model.verdict import Judgement, Verdict
from tests.mutants import DRILLS, PAGE, mutants, noted, page


@pytest.mark.parametrize("drill", DRILLS)
def test_every_criterion_has_a_mutant(drill: str) -> None:
    assert set(range(1, 9)) == {number for mutant in DRILLS[drill][1].values() for number in mutant.expected}


def test_no_two_mutants_have_one_name() -> None:
    assert sum(len(table) for _, table in DRILLS.values()) == len(mutants())


def test_each_was_caught_when_it_was_last_run() -> None:
    for name, found in noted().items():
        for number, (verdict, ids, because) in found["criteria"].items():
            expected = mutants()[name].expected[int(number)]
            assert expected.lack(Judgement(Verdict(verdict), because, tuple(ids))) is None, (name, number)


def test_the_page_is_what_is_noted() -> None:
    assert page(noted()) == PAGE.read_text()
