"""Databases for the tests of the drills."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests import postgresql


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[postgresql.Server]:
    """One server for the whole run."""
    with postgresql.running() as server:
        yield server


@pytest.fixture
def postgresql_url(postgresql_server: postgresql.Server, fresh_name: Callable[[str], str]) -> str:
    """The URL of an empty database of this test's own."""
    return postgresql_server.fresh(fresh_name("db"))
