"""Writing to the ledger, and reading it back, for one run."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from drills.ledger import clock, tables
from drills.ledger.database import connect
from drills.model.publish import Attempt, Outcome
from drills.model.verdict import Judgement, Verdict

Row = Mapping[str, Any]


class Ledger:
    """The rows of one run. Every write is committed when it returns; may be used from several threads and processes."""

    def __init__(self, url: str, run: str) -> None:
        self.url = url
        self.run = run
        self._engine = connect(url)

    def create(self) -> None:
        """Makes the tables that are not there yet."""
        tables.metadata.create_all(self._engine)

    def close(self) -> None:
        """Gives its connections back."""
        self._engine.dispose()

    # the run

    def begin(self, **values: Any) -> None:
        """Notes the run itself; the columns of `runs`."""
        self._insert(tables.runs, state="running", began=clock.now(), **values)

    def describe(self, **values: Any) -> None:
        """Notes what is known only after it began, such as the versions of brokers; the columns of `runs`."""
        self._update(tables.runs, {}, **values)

    def finish(self, state: str, exit_code: int | None) -> None:
        """Notes how it ended."""
        self._update(tables.runs, {}, state=state, ended=clock.now(), exit_code=exit_code)

    def about(self) -> Row:
        """The row of the run. Raises LookupError when there is none."""
        found = self.rows(tables.runs)
        if not found:
            raise LookupError(f"the ledger has no run {self.run!r}")
        return found[0]

    def note(self, kind: str, text: str, case: str = "", **data: Any) -> None:
        """One entry of the timeline."""
        times = {"wall": clock.now(), "monotonic": time.monotonic()}
        self._insert(tables.timeline, kind=kind, case=case, text=text, data=data, **times)

    # changes

    def plan_change(self, case: str, kind: str, arguments: Row, is_fault: bool) -> int:
        """Notes a change before it is made; its number."""
        values = {"case": case, "kind": kind, "arguments": arguments, "is_fault": is_fault, "planned": clock.now()}
        return self._insert_numbered(tables.changes, {}, **values)

    def change(self, number: int, **values: Any) -> None:
        """Notes what became of a change; the columns of `changes`."""
        self._update(tables.changes, {"number": number}, **values)

    def standing_changes(self) -> list[Row]:
        """Changes that were planned and not undone, the last one first."""
        found = self.rows(tables.changes)
        return sorted((row for row in found if row["undone"] is None), key=lambda row: row["number"], reverse=True)

    # workers and hooks

    def worker_began(self, **values: Any) -> None:
        """Notes a process of ours; the columns of `workers`."""
        self._insert(tables.workers, began=clock.now(), **values)

    def worker_ended(self, name: str, exit_code: int | None) -> None:
        """Notes that it is gone."""
        self._update(tables.workers, {"name": name}, ended=clock.now(), exit_code=exit_code)

    def hook_reached(self, case: str, worker: str, hook: str, event_id: str) -> int:
        """Notes that a worker stands at a hook, before it says so; the number of the entry."""
        values = {"case": case, "worker": worker, "hook": hook, "event_id": event_id}
        return self._insert(tables.hooks, **values, reached=clock.now())

    def hook_released(self, number: int) -> None:
        """Notes that it goes on."""
        self._update(tables.hooks, {"number": number}, released=clock.now())

    # events

    def attempt(self, case: str, event_id: str, worker: str) -> int:
        """Notes an attempt as PENDING, before it is sent; its number, from 1."""
        values = {"worker": worker, "outcome": Outcome.PENDING.value, "detail": {}, "pending": clock.now()}
        return self._insert_numbered(tables.attempts, {"case": case, "event_id": event_id}, **values)

    def settle(self, case: str, event_id: str, number: int, outcome: Outcome, **detail: Any) -> None:
        """Writes the outcome of an attempt. CONFIRMED is not taken back: whoever was told so has gone on.

        What is said after it is noted in the timeline.
        """
        which = {"case": case, "event_id": event_id, "number": number}
        values = {"outcome": outcome.value, "detail": detail, "settled": clock.now()}
        before = tables.attempts.c.outcome != Outcome.CONFIRMED.value
        if not self._update(tables.attempts, which, before, **values) and outcome != Outcome.CONFIRMED:
            said = f"{event_id}, attempt {number}: {outcome} after it was confirmed"
            self.note("observation", said, case, **detail)

    def delivered(
        self, case: str, event_id: str, worker: str, place: str, *, redelivered: bool = False, **detail: Any
    ) -> None:
        """Notes that an event was handed to a worker, before it is handled."""
        row = {"case": case, "event_id": event_id, "worker": worker, "place": place, "redelivered": redelivered}
        self._insert(tables.deliveries, **row, detail=detail, at=clock.now())

    def decide(self, case: str, event_id: str, decision: str, **detail: Any) -> None:
        """Notes what was decided about an event, such as to retry it."""
        self._insert(tables.decisions, case=case, event_id=event_id, decision=decision, detail=detail, at=clock.now())

    def attempts(self, case: str) -> list[Attempt]:
        """Every attempt of a case."""
        rows = self.rows(tables.attempts, case)
        return [Attempt(row["event_id"], row["number"], Outcome(row["outcome"])) for row in rows]

    # what was seen, and what it is judged to be

    def fact(self, case: str, name: str, value: Any, source: str) -> None:
        """Notes something that was read: who was asked, and the answer as JSON."""
        times = {"wall": clock.now(), "monotonic": time.monotonic()}
        self._insert(tables.facts, case=case, name=name, value=value, source=source, **times)

    def facts(self) -> dict[str, dict[str, Any]]:
        """Case -> name -> the last value of that name."""
        found: dict[str, dict[str, Any]] = {}
        for row in self.rows(tables.facts):
            found.setdefault(row["case"], {})[row["name"]] = row["value"]
        return found

    def judge(self, criterion: int, judgement: Judgement) -> None:
        """Writes a verdict; a later one (`analyze`) takes its place."""
        values: dict[str, Any] = {"verdict": judgement.verdict.value, "because": judgement.because}
        values |= {"ids": list(judgement.ids), "evidence": dict(judgement.evidence)}
        mine = (tables.judgements.c.run == self.run) & (tables.judgements.c.criterion == criterion)
        with self._engine.begin() as connection:
            connection.execute(sa.delete(tables.judgements).where(mine))
            connection.execute(sa.insert(tables.judgements).values(run=self.run, criterion=criterion, **values))

    def judgements(self) -> dict[int, Judgement]:
        """Criterion -> verdict."""
        return {
            row["criterion"]: Judgement(Verdict(row["verdict"]), row["because"], tuple(row["ids"]), row["evidence"])
            for row in self.rows(tables.judgements)
        }

    # plumbing

    def rows(self, table: sa.Table, case: str | None = None) -> Sequence[Row]:
        """The rows of this run in a table, oldest first; of one case when it is given."""
        query = sa.select(table).where(table.c.run == self.run).order_by(*table.primary_key.columns)
        if case is not None:
            query = query.where(table.c.case == case)
        with self._engine.begin() as connection:
            return [dict(row) for row in connection.execute(query).mappings()]

    def _insert(self, table: sa.Table, **values: Any) -> int:
        with self._engine.begin() as connection:
            key = connection.execute(sa.insert(table).values(run=self.run, **values)).inserted_primary_key
        return int(key[0]) if key and isinstance(key[0], int) else 0

    def _insert_numbered(self, table: sa.Table, among: Row, **values: Any) -> int:
        """A row with the next `number`, from 1, among those of this run that have these values; the number."""
        mine = sa.and_(table.c.run == self.run, *(table.c[column] == value for column, value in among.items()))
        with self._engine.begin() as connection:
            if connection.dialect.name == "postgresql":  # two writers would read one number; SQLite has but one writer
                connection.exec_driver_sql(f"LOCK TABLE {table.name} IN EXCLUSIVE MODE")
            number = (connection.scalar(sa.select(sa.func.max(table.c.number)).where(mine)) or 0) + 1
            connection.execute(sa.insert(table).values(run=self.run, number=number, **among, **values))
        return int(number)

    def _update(self, table: sa.Table, which: Row, *conditions: sa.ColumnElement[bool], **values: Any) -> int:
        """How many rows were changed."""
        query = sa.update(table).where(table.c.run == self.run, *conditions)
        for column, value in which.items():
            query = query.where(table.c[column] == value)
        with self._engine.begin() as connection:
            return connection.execute(query.values(**values)).rowcount
