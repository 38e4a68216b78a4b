"""The ledger in SQLite keeps every promise of a ledger, and is on disk when a write returns."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from drills.engine import seeing
from drills.ledger import database
from tests.ledger_claims import CLAIMS, opened


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.__name__)
def test_the_promises_in_sqlite(claim: Callable[[str], None], tmp_path: Path) -> None:
    claim(database.sqlite_url(tmp_path / "ledger.db"))


@pytest.mark.parametrize(
    ("expected", "pragma"), [("wal", "journal_mode"), (2, "synchronous"), (database.BUSY_MS, "busy_timeout")]
)
def test_sqlite_is_opened_so_that_a_commit_is_on_disk_and_writers_wait(
    expected: object, pragma: str, tmp_path: Path
) -> None:
    engine = database.connect(database.sqlite_url(tmp_path / "ledger.db"))
    with engine.connect() as connection:
        assert expected == connection.exec_driver_sql(f"PRAGMA {pragma}").scalar()
    engine.dispose()


def test_a_postgresql_url_is_read_by_psycopg_and_keeps_its_password_to_itself() -> None:
    engine = database.connect("postgresql://drill:secret@127.0.0.1:5432/ledger")
    assert ("postgresql", "psycopg") == (engine.dialect.name, engine.dialect.driver)
    assert "secret" not in repr(engine)
    engine.dispose()


def test_a_clock_that_is_set_back_does_not_change_what_came_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A retry that was decided before its attempt is not decided about afterwards; with wall clocks it seemed so."""
    ledger = opened(database.sqlite_url(tmp_path / "ledger.db"))
    ledger.attempt("a", "E1", "w")
    ledger.decide("a", "E1", "retry")
    real = time.time
    monkeypatch.setattr("time.time", lambda: real() - 3600)
    ledger.attempt("a", "E1", "w")
    found = seeing.account(ledger, "a", {"effects": {}})
    assert found is not None
    assert frozenset() == found.retry_decisions
    ledger.close()
