"""The ledger in a real PostgreSQL keeps every promise of a ledger."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.ledger_claims import CLAIMS


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.__name__)
def test_the_promises_in_postgresql(claim: Callable[[str], None], postgresql_url: str) -> None:
    claim(postgresql_url)
