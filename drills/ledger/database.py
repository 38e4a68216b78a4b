"""A database by URL: SQLite (write-ahead log, every commit on disk) or PostgreSQL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import sqlalchemy as sa

BUSY_MS = 30_000  # how long a writer of SQLite waits for another one


def sqlite_url(path: Path) -> str:
    """The URL of an SQLite file."""
    return f"sqlite:///{path.absolute()}"


def connect(url: str, *, only_reads: bool = False) -> sa.Engine:
    """An engine for the URL. No connection is made yet. Raises sqlalchemy.exc.ArgumentError for what is no URL.

    With `only_reads` each transaction sees one moment, and waits for no writer that stands in the middle of its own.
    """
    parsed = sa.engine.make_url(url)
    if parsed.get_backend_name() == "postgresql":
        level: dict[str, Any] = {"isolation_level": "REPEATABLE READ"} if only_reads else {}
        return sa.create_engine(parsed.set(drivername="postgresql+psycopg"), pool_pre_ping=True, **level)
    engine = sa.create_engine(parsed)
    sa.event.listen(engine, "connect", _set_up_sqlite)
    sa.event.listen(engine, "begin", _begin_to_read if only_reads else _begin_sqlite)
    return engine


def _set_up_sqlite(connection: Any, _: Any) -> None:
    """Commits are on disk when they return, and writers wait for each other."""
    connection.isolation_level = None  # the driver's own BEGIN comes too late: a reader that then writes would fail
    for pragma in (f"busy_timeout={BUSY_MS}", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: sa.Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _begin_to_read(connection: sa.Connection) -> None:
    connection.exec_driver_sql("BEGIN")
