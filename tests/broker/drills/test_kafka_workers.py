"""Kafka's workers on a real cluster, without a drill around them: hooks, barriers, offsets, what is sent again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

from drills.actors.hooks import AFTER_CONFIRM_BEFORE_LEDGER, AFTER_DB_COMMIT_BEFORE_ACK
from drills.actors.messages import Message
from drills.actors.worker import Worker, start
from drills.business.checkpoint import Reader
from drills.business.handling import Business
from drills.faults.group import Group
from drills.faults.partitions import Partitions, refused
from drills.faults.topic import Topic
from drills.lab import Lab
from drills.lab.waiting import wait_for
from drills.ledger import Ledger, tables
from drills.ledger.database import sqlite_url
from drills.targets import file as target_file
from drills.targets.target import Target
from drills.witness.kafka import KafkaWitness
from tests.broker.conftest import session_lab

PRODUCER, CONSUMER = "drills.actors.kafka_producer", "drills.actors.kafka_consumer"
EVENTS = [f"account-{number:04}-001" for number in range(1, 7)]  # two on each of three partitions


@dataclass
class Bench:
    """One case without a drill: a topic, a group, a ledger, a business database, and the workers started so far."""

    target: Target
    topic: str
    group: str
    ledger: Ledger
    business_url: str
    folder: Path
    workers: list[Worker]

    def start(self, module: str, name: str, **options: Any) -> Worker:
        given = {"client": dict(self.target.kafka.client), "topic": self.topic, "group": self.group}
        worker = start(
            module, name, {**given, "business_url": self.business_url, "handler_id": "counter", **options},
            ledger=self.ledger, case="case", log=self.folder / f"{name}.log",
        )  # fmt: skip
        self.workers.append(worker)
        worker.await_event("ready", 30)
        return worker

    def produce(self, worker: Worker, ids: list[str]) -> None:
        worker.send("produce", events=[asdict(Message(one)) for one in ids], seconds=20)
        worker.await_event("settled", 40)

    @property
    def effects(self) -> dict[str, int]:
        reader = Reader(self.business_url, "run", "case")
        try:
            return dict(reader.checkpoint().effects)
        finally:
            reader.close()

    @property
    def lag(self) -> dict[int, int | None]:
        return KafkaWitness(self.target.kafka).offsets(self.group, self.topic).lag

    def await_lag(self, wanted: dict[int, int | None]) -> None:
        wait_for(f"the lag is {wanted}", lambda: None if self.lag == wanted else str(self.lag), 40)


@pytest.fixture
def bench(request: pytest.FixtureRequest, tmp_path: Path, fresh_name: Callable[[str], str]) -> Iterator[Bench]:
    lab: Lab = session_lab(request, ("kafka",))
    target = target_file.find(lab.name)
    name = fresh_name("workers")
    ledger = Ledger(sqlite_url(tmp_path / "ledger.db"), "run")
    ledger.create()
    url = sqlite_url(tmp_path / "business.db")
    business = Business(url, "run", "case", "counter")
    business.create()
    business.close()
    topic, group = Topic(name, 3), Group(f"{name}-group", name, 3)
    made = Bench(target, name, group.name, ledger, url, tmp_path, [])
    topic.prepared(target).make(target)
    try:
        group.prepared(target).make(target)
        yield made
    finally:
        for worker in made.workers:
            worker.kill()
        for change in (group, topic):
            change.undo(target)
            change.undo(target)
            wait_for("it is undone", lambda change=change: change.undone(target), 30)  # type: ignore[misc]


def test_a_consumer_that_dies_before_the_offset_reads_again_and_does_not_do_again(bench: Bench) -> None:
    bench.produce(bench.start(PRODUCER, "producer"), EVENTS)
    assert {0: 2, 1: 2, 2: 2} == bench.lag
    first = bench.start(CONSUMER, "first")
    first.arm(AFTER_DB_COMMIT_BEFORE_ACK, EVENTS[2])
    first.send("join", hold=[])
    first.await_event("hook", 40, event_id=EVENTS[2])
    assert 1 == bench.effects[EVENTS[2]]
    first.kill()
    bench.start(CONSUMER, "second").send("join", hold=[])
    bench.await_lag({0: 0, 1: 0, 2: 0})
    rows = [row for row in bench.ledger.rows(tables.deliveries, "case") if row["event_id"] == EVENTS[2]]
    assert (dict.fromkeys(EVENTS, 1), ["first", "second"]) == (bench.effects, [row["worker"] for row in rows])


def test_a_held_partition_waits_and_the_others_do_not(bench: Bench) -> None:
    bench.produce(bench.start(PRODUCER, "producer"), EVENTS)
    consumer = bench.start(CONSUMER, "consumer")
    consumer.send("join", hold=[0])
    bench.await_lag({0: 2, 1: 0, 2: 0})
    assert [one for one in EVENTS if int(one[8:12]) % 3] == sorted(bench.effects)
    consumer.send("let", partitions=[0])
    bench.await_lag({0: 0, 1: 0, 2: 0})
    assert dict.fromkeys(EVENTS, 1) == bench.effects


def test_new_partitions_are_seen_and_none_is_ever_taken_away(bench: Bench) -> None:
    producer, consumer = bench.start(PRODUCER, "producer"), bench.start(CONSUMER, "consumer")
    consumer.send("join", hold=[0, 1, 2])
    raised = Partitions(bench.topic, 6)
    raised.make(bench.target)
    wait_for("six partitions have leaders", lambda: None if raised.bite(bench.target) else "not yet", 30)
    producer.send("metadata", partitions=6, seconds=30)
    assert 6 == producer.await_event("metadata", 40)["partitions"]
    bench.produce(producer, EVENTS)
    moved = [one for one in EVENTS if int(one[8:12]) % 6 > 2]
    wait_for("what moved is done", lambda: None if sorted(bench.effects) == moved else str(bench.effects), 40)
    assert "InvalidPartitionsError" in str(refused(bench.target.kafka, bench.topic, 3))
    assert 6 == len(KafkaWitness(bench.target.kafka).partitions(bench.topic))


def test_a_producer_that_dies_before_its_ledger_sends_again_by_id(bench: Bench) -> None:
    first = bench.start(PRODUCER, "first")
    first.arm(AFTER_CONFIRM_BEFORE_LEDGER, EVENTS[0])
    first.send("produce", events=[asdict(Message(EVENTS[0]))], seconds=20)
    first.await_event("hook", 40, event_id=EVENTS[0])
    first.kill()
    second = bench.start(PRODUCER, "second")
    second.send("retry", events=[asdict(Message(one)) for one in EVENTS[:2]], seconds=20)
    assert [EVENTS[0]] == second.await_event("retrying", 20)["ids"]
    second.await_event("settled", 40)
    assert ["pending", "confirmed"] == [one.outcome.value for one in bench.ledger.attempts("case")]
    found = KafkaWitness(bench.target.kafka).log(bench.topic)
    assert [(EVENTS[0], EVENTS[0][:12], 1, offset) for offset in (0, 1)] == [
        (one.event_id, one.key, one.partition, one.offset) for one in found
    ]
