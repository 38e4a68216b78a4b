"""docs/connection-errors.md says what the tables of the tests say."""

from __future__ import annotations

from tests import connection_page


def test_the_page_is_fresh() -> None:
    assert connection_page.PAGE.read_text() == connection_page.page(), "run make docs"
