"""What a handler does with an event: the marker in the inbox, the counter and the effect, in one transaction."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from drills.business import tables
from drills.ledger import clock
from drills.ledger.database import connect


class Handled(StrEnum):
    """What handling an event came to."""

    APPLIED = "applied"
    REPEATED = "repeated"  # its marker was there with the same payload: nothing was done
    CONFLICT = "conflict"  # its marker was there with another payload: it must not be applied


@dataclass(frozen=True, slots=True)
class Event:
    """An event as it came. `place`: where it came from; `body`: its bytes, unchanged; `fields`: as they were read."""

    event_id: str
    body: bytes
    place: str
    fields: Mapping[str, Any] | None = None

    @property
    def payload_hash(self) -> str:
        """SHA-256 of the bytes, in hexadecimal."""
        return hashlib.sha256(self.body).hexdigest()


class Business:
    """One handler of one case, as a worker uses it. `has_inbox=False` is a wrong design, for negative controls."""

    def __init__(self, url: str, run: str, case: str, handler_id: str, *, has_inbox: bool = True) -> None:
        self._engine = connect(url)
        self._where = {"run": run, "case": case, "handler_id": handler_id}
        self._has_inbox = has_inbox

    def create(self) -> None:
        """Makes the tables that are missing, and the counter at 0. Raises LookupError for those of an old version."""
        tables.metadata.create_all(self._engine)
        self._must_be_ours()
        with self._engine.begin() as connection:
            connection.execute(_if_absent(connection, tables.counters).values(**self._where, value=0))

    def close(self) -> None:
        """Gives its connections back."""
        self._engine.dispose()

    @contextmanager
    def transaction(self) -> Iterator[sa.Connection]:
        """Commits at the end of the block; what raises in it rolls back."""
        with self._engine.begin() as connection:
            yield connection

    def handle(self, connection: sa.Connection, event: Event, worker: str, amount: int = 1) -> Handled:
        """Marks the event, and applies it when it was not marked before; the caller commits.

        The unique key decides, not a look beforehand: a second handler of the same event waits for our commit.
        """
        if self._has_inbox and not self._mark(connection, event):
            same = self._marked_hash(connection, event.event_id) == event.payload_hash
            return Handled.REPEATED if same else Handled.CONFLICT
        fields = None if event.fields is None else dict(event.fields)
        row = {"event_id": event.event_id, "worker": worker, "at": clock.now(), "fields": fields}
        connection.execute(sa.insert(tables.effects).values(**self._where, **row))
        mine = [tables.counters.c[name] == value for name, value in self._where.items()]
        value = tables.counters.c.value + amount
        if connection.execute(sa.update(tables.counters).where(*mine).values(value=value)).rowcount != 1:
            raise LookupError(f"the counter of {self._where} is gone")
        return Handled.APPLIED

    def set_aside(self, event: Event, reason: str, *, error_class: str = "", fingerprint: str = "") -> None:
        """Puts an event into quarantine, with its bytes; durable when it returns.

        The same bytes from the same place, handed out again, are there once.
        """
        same = {"event_id": event.event_id, "payload_hash": event.payload_hash, "place": event.place}
        row = {"reason": reason, "error_class": error_class, "fingerprint": fingerprint, "body": event.body}
        columns = tables.quarantine.c
        mine = [columns[name] == value for name, value in {**self._where, **same}.items()]
        with self._engine.begin() as connection:
            if connection.scalar(sa.select(columns.number).where(*mine)) is None:
                values = {**self._where, **same, **row, "at": clock.now()}
                connection.execute(sa.insert(tables.quarantine).values(**values))

    def _must_be_ours(self) -> None:
        there = sa.inspect(self._engine)
        for table in tables.metadata.sorted_tables:
            lacking = {column.name for column in table.columns} - {one["name"] for one in there.get_columns(table.name)}
            if lacking:
                raise LookupError(
                    f"the business database has a table {table.name} of an older version, without "
                    f"{', '.join(sorted(lacking))}: name an empty database"
                )

    def _mark(self, connection: sa.Connection, event: Event) -> bool:
        """Whether the marker is new."""
        values = {**self._where, "event_id": event.event_id, "payload_hash": event.payload_hash}
        query = _if_absent(connection, tables.inbox).values(**values).returning(tables.inbox.c.event_id)
        return connection.scalar(query) is not None  # psycopg gives no rowcount of an insert that may do nothing

    def _marked_hash(self, connection: sa.Connection, event_id: str) -> str | None:
        columns = tables.inbox.c
        mine = [columns[name] == value for name, value in self._where.items()]
        query = sa.select(columns.payload_hash).where(*mine, columns.event_id == event_id)
        found: str | None = connection.scalar(query)
        return found


def _if_absent(connection: sa.Connection, table: sa.Table) -> Any:
    """An insert that does nothing where the primary key is taken."""
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    return dialect.insert(table).on_conflict_do_nothing()
