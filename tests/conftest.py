"""Options and fixtures for every test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.mutations import MUTATIONS


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--mutate", metavar="NAME", help="run with this named mutation in force (see tests/mutations.py)")


@pytest.fixture(autouse=True)
def chosen_mutation(request: pytest.FixtureRequest) -> Iterator[None]:
    """Put the mutation of `--mutate` in force, so that a person can watch a test fail."""
    name = request.config.getoption("--mutate")
    if name is None:
        yield
        return
    if name not in MUTATIONS:
        raise pytest.UsageError(
            f"no mutation {name!r} in the tests collected; there are {', '.join(sorted(MUTATIONS))}"
        )
    with MUTATIONS[name]():
        yield
