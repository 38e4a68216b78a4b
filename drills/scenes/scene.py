"""What the scenes of all brokers share: events drawn from the run's seed, holding and killing, the account."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from drills.actors.messages import Message
from drills.actors.worker import Worker, WorkerError
from drills.business.checkpoint import Checkpoint, Reader
from drills.business.handling import Business
from drills.engine.stage import Stage
from drills.faults.kill_worker import KillWorker
from drills.lab.errors import LabTimeoutError
from drills.ledger import tables
from drills.scenes import wrong as wrongs
from drills.scenes.wrong import Wrong

HANDLER = "counter"
READY = 45.0  # seconds until a worker is connected
SEEN = 30.0  # seconds until the broker's counts, which are seconds old, show what is true
BUSINESS, LEDGER = "the business database, second connection", "the run's ledger"


@dataclass
class BusinessScene:
    """The place of one case. Readings don't raise when they are not as expected: the criterion says what they mean.

    `amount`: what each event adds; `writer`, `reader`: the version of the contract that its workers have; 0: none.
    """

    place: ClassVar[str] = "queue"  # what events are handed out from

    stage: Stage
    wrong: Wrong = field(default_factory=Wrong)
    amount: int = 1
    writer: int = 0
    reader: int = 0

    def make_tables(self, handler: str = HANDLER) -> None:
        """The business tables, with a counter of the handler at 0."""
        business = Business(self.stage.business_url, self.stage.ledger.run, self.stage.case, handler)
        business.create()
        business.close()

    def messages(self, ids: Sequence[str], amount: int | None = None) -> list[dict[str, Any]]:
        """The messages of these events; salted from the run's seed."""
        each = self.amount if amount is None else amount
        return [asdict(Message(event, each, self._drawn(event)[:12])) for event in ids]

    def shuffled(self, ids: Sequence[str]) -> list[str]:
        """The events in an order of the run's seed."""
        order = list(ids)
        random.Random(self._drawn("order")).shuffle(order)  # noqa: S311 - to be repeatable
        return order

    def _drawn(self, name: str) -> str:
        return hashlib.sha256(f"{self.stage.seed}/{self.stage.case}/{name}".encode()).hexdigest()

    # workers

    @property
    def clock(self) -> dict[str, float]:
        """Options of workers whose clock jumps."""
        return {"clock_step": -3600.0} if self.wrong.environment == wrongs.CLOCK_STEPS else {}

    def _told(self) -> str:
        outcomes = [one.outcome.value for one in self.stage.ledger.attempts(self.stage.case)]
        return ", ".join(f"{outcomes.count(name)} {name}" for name in sorted(set(outcomes)))

    def held(self, worker: Worker, hook: str, event_id: str) -> bool:
        """Whether a worker comes to stand at this hook."""
        try:
            worker.await_event("hook", self.stage.parameters["hook_seconds"], hook=hook, event_id=event_id)
        except WorkerError as error:
            self.stage.note(f"{event_id} was not held at {hook}: {error}", "observation")
            return False
        self.stage.note(f"{worker.name} stands at {hook} with {event_id}", "hook", hook=hook, event_id=event_id)
        return True

    def kill(self, worker: Worker) -> None:
        """SIGKILL as a fault of the run, with its proof: pid and start time are gone."""
        if self.wrong.environment == wrongs.KILL_MISSES:
            worker.release()
            worker.stop()
            return
        number = self.stage.make(KillWorker(worker.name, worker.process.pid, worker.process.started))
        self.stage.bite(number)
        worker.kill()  # takes note of its exit code

    # readings

    @contextmanager
    def business(self, handler: str = HANDLER) -> Iterator[Reader]:
        """What one handler did in this case, through a connection that no worker has."""
        reader = Reader(self.stage.business_url, self.stage.ledger.run, self.stage.case, handler)
        try:
            yield reader
        finally:
            reader.close()

    def checkpoint(self, name: str) -> Checkpoint:
        """What is committed; kept as a fact."""
        with self.business() as reader:
            found = reader.checkpoint()
        self.stage.fact(name, found.json(), BUSINESS)
        return found

    def fields(self, name: str, handler: str = HANDLER) -> list[dict[str, Any]]:
        """The fields of each effect as they were decoded; kept as a fact."""
        with self.business(handler) as reader:
            found = reader.fields()
        self.stage.fact(name, found, BUSINESS)
        return found

    def await_effects(self, count: int, seconds: float) -> Checkpoint:
        """What is committed once so many events have an effect, or at the end of the time."""
        with self.business() as reader:

            def lack() -> str | None:
                told = len(reader.checkpoint().effects)
                return None if told >= count else f"{told} of {count}"

            self._try(f"{count} events are applied", lack, seconds)
            return reader.checkpoint()

    def outcomes(self, name: str) -> dict[str, list[str]]:
        """ID -> the outcomes of its attempts, in the order of the attempts; kept as a fact."""
        found: dict[str, list[str]] = {}
        for attempt in self.stage.ledger.attempts(self.stage.case):
            found.setdefault(attempt.event_id, []).append(attempt.outcome.value)
        self.stage.fact(name, found, LEDGER)
        return found

    def account(self) -> Checkpoint:
        """The facts that the case is reconciled from: effects, quarantine, where each event was last seen."""
        found = self.checkpoint("checkpoint")
        self.stage.fact("effects", dict(found.effects), BUSINESS)
        self.stage.fact("quarantined", found.quarantined, BUSINESS)
        self.stage.fact("seen_at", self.seen_at(), LEDGER)
        self.outcomes("outcomes")
        return found

    def seen_at(self) -> dict[str, str]:
        """ID -> the last place where the ledger has it."""
        deliveries = self.stage.ledger.rows(tables.deliveries, self.stage.case)
        return {row["event_id"]: f"handed to {row['worker']} from {self.place} {row['place']}" for row in deliveries}

    def deliveries_of(self, event_id: str) -> None:
        """To whom an event was handed, and whether it was marked as redelivered; as the fact `deliveries`."""
        rows = [
            row for row in self.stage.ledger.rows(tables.deliveries, self.stage.case) if row["event_id"] == event_id
        ]
        told = [{"worker": row["worker"], "redelivered": row["redelivered"], **row["detail"]} for row in rows]
        self.stage.fact("deliveries", told, LEDGER)

    def _try(self, claim: str, lack: Callable[[], str | None], seconds: float) -> None:
        try:
            self.stage.wait(claim, lack, seconds)
        except LabTimeoutError as late:
            self.stage.note(str(late), "observation")
