"""Checkpoints: what the business database holds, read through a connection that no worker uses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa

from drills.business import tables
from drills.ledger.database import connect

QUARANTINE = ("event_id", "reason", "error_class", "fingerprint", "payload_hash", "place")


@dataclass(frozen=True)
class Checkpoint:
    """What is committed of one case. `counter`: None when there is none; `effects`: ID -> times applied."""

    inbox: Mapping[str, str]  # ID -> payload hash
    counter: int | None
    effects: Mapping[str, int]
    quarantine: Sequence[Mapping[str, str]]  # QUARANTINE, and the bytes in hexadecimal as `body`

    @property
    def quarantined(self) -> list[str]:
        """What is in quarantine, sorted: by its ID, or by its place where its bytes name none."""
        return sorted({row["event_id"] or row["place"] for row in self.quarantine})

    def json(self) -> dict[str, Any]:
        """The same, as a fact of the ledger."""
        return asdict(self)


class Reader:
    """Reads one case of the business database; sees what is committed, and waits for no writer.

    `handler`: only what this one did, where several handle the events of a case.
    """

    def __init__(self, url: str, run: str, case: str, handler: str | None = None) -> None:
        self._engine = connect(url, only_reads=True)
        self._run, self._case, self._handler = run, case, handler

    def close(self) -> None:
        """Gives its connections back."""
        self._engine.dispose()

    def checkpoint(self) -> Checkpoint:
        """Everything, of one moment."""
        with self._engine.begin() as connection:
            inbox = {row["event_id"]: row["payload_hash"] for row in self._rows(connection, tables.inbox)}
            values = [row["value"] for row in self._rows(connection, tables.counters)]
            effects = Counter(row["event_id"] for row in self._rows(connection, tables.effects))
            aside = [dict(row) for row in self._rows(connection, tables.quarantine)]
        told = [{**{name: row[name] for name in QUARANTINE}, "body": bytes(row["body"]).hex()} for row in aside]
        return Checkpoint(inbox, sum(values) if values else None, dict(effects), told)

    def order(self) -> list[str]:
        """The IDs of the effects, in the order in which they were applied."""
        with self._engine.begin() as connection:
            return [row["event_id"] for row in self._rows(connection, tables.effects)]

    def fields(self) -> list[dict[str, Any]]:
        """The decoded fields of each effect, in the order in which they were applied; {} where none were kept."""
        with self._engine.begin() as connection:
            return [dict(row["fields"] or {}) for row in self._rows(connection, tables.effects)]

    def _rows(self, connection: sa.Connection, table: sa.Table) -> Sequence[Mapping[str, Any]]:
        mine = (table.c.run == self._run) & (table.c.case == self._case)
        if self._handler is not None:
            mine &= table.c.handler_id == self._handler
        query = sa.select(table).where(mine).order_by(*table.primary_key.columns)
        return connection.execute(query).mappings().all()  # type: ignore[return-value]
