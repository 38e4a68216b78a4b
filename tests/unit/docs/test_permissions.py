"""docs/permissions.md is what the tests prove."""

from __future__ import annotations

from tests import permissions


def test_the_page_is_what_the_rows_say() -> None:
    """When it is not: `python -m tests.permissions --write`."""
    assert permissions.page().splitlines() == permissions.PAGE.read_text().splitlines()


def test_every_right_of_the_monitor_is_taken_away_in_some_row() -> None:
    taken = [set(permissions.MONITOR_RIGHTS) - set(row.rights) for row in permissions.KAFKA]
    alone = {next(iter(rights)) for rights in taken if len(rights) == 1}
    assert set(permissions.MONITOR_RIGHTS) == alone
