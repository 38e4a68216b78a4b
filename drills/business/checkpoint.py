"""Checkpoints: what the business database holds, read through a connection that no worker uses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa

from drills.business import tables
from drills.ledger.database import connect


@dataclass(frozen=True)
class Checkpoint:
    """What is committed of one case. `counter`: None when there is none; `effects`: ID -> times applied."""

    inbox: Mapping[str, str]  # ID -> payload hash
    counter: int | None
    effects: Mapping[str, int]
    quarantine: Sequence[Mapping[str, str]]  # event_id, reason, payload_hash, place

    def json(self) -> dict[str, Any]:
        """The same, as a fact of the ledger."""
        return asdict(self)


class Reader:
    """Reads one case of the business database; sees what is committed, and waits for no writer."""

    def __init__(self, url: str, run: str, case: str) -> None:
        self._engine = connect(url, only_reads=True)
        self._run, self._case = run, case

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
        told = [{name: row[name] for name in ("event_id", "reason", "payload_hash", "place")} for row in aside]
        return Checkpoint(inbox, sum(values) if values else None, dict(effects), told)

    def order(self) -> list[str]:
        """The IDs of the effects, in the order in which they were applied."""
        with self._engine.begin() as connection:
            return [row["event_id"] for row in self._rows(connection, tables.effects)]

    def _rows(self, connection: sa.Connection, table: sa.Table) -> Sequence[Mapping[str, Any]]:
        mine = (table.c.run == self._run) & (table.c.case == self._case)
        query = sa.select(table).where(mine).order_by(*table.primary_key.columns)
        return connection.execute(query).mappings().all()  # type: ignore[return-value]
