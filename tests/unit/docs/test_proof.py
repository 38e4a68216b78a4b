"""The page of proofs is current, and nothing is without one."""

from __future__ import annotations

import pytest

from tests import proof


def test_the_page_is_what_the_tests_say() -> None:
    """When it is not: `python -m tests.proof --write`."""
    assert proof.page().splitlines() == proof.PAGE.read_text().splitlines()


@pytest.mark.parametrize("family", proof.families())
def test_every_metric_is_proven_on_a_real_page(family: str) -> None:
    assert proof.proving(proof.tests_of(proof.OVER_HTTP), family), f"no test in {proof.OVER_HTTP} mentions {family}"


@pytest.mark.parametrize("promise", proof.PROMISES)
def test_every_promise_has_a_break_that_is_there(promise: int) -> None:
    _, breaks = proof.PROMISES[promise]
    assert breaks
    assert set() == set(breaks) - proof.mutations().keys()


def test_every_break_is_caught_by_some_test() -> None:
    tests = proof.tests_of(proof.ROOT / "tests")
    assert [] == [name for name in proof.mutations() if not proof.proving(tests, name)]


SOURCE = '''
NAMES = ("mq_one", "mq_two")
def check(seen):
    assert seen == "mq_three"
@pytest.fixture
def scene():
    wait("mq_four")
def helper():
    check("mq_five")
@pytest.mark.parametrize("name", ["mq_six"])
def test_it(scene, name):
    """mq_seven in a text is no claim."""
    helper()
    assert NAMES
def test_nothing(scene):
    assert f"mq_{scene}"
'''


def test_a_test_mentions_what_it_and_its_own_helpers_name() -> None:
    found = {name: {word for word in words if word.startswith("mq_")} for name, words in proof.mentions(SOURCE).items()}
    assert {"mq_one", "mq_two", "mq_three", "mq_five", "mq_six"} == {
        word for word in found["test_it"] if " " not in word
    }
    assert {"mq_"} == found["test_nothing"]
