"""A cluster for the tests of record ages: topics written by confluent-kafka, positions read by our own reader."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from drills.lab.kafka import Kafka as LabKafka
from exporter.clients.kafka.brokers import Brokers, Failure, Request
from exporter.clients.kafka.messages import list_offsets, metadata
from exporter.clients.kafka.messages.list_offsets import End
from exporter.clients.kafka.record_times import RecordTimes
from exporter.model.record_time import Position, RecordTime, Wanted
from tests.broker.kafka.topic_views import create_and_await, delete_and_await, wire_client

TIMEOUT = 10.0


class RecordWorld:
    """One cluster."""

    def __init__(self, where: LabKafka | str) -> None:
        self.client = {"bootstrap.servers": where} if isinstance(where, str) else where.client
        self.admin = AdminClient(self.client)
        self.brokers = Brokers(self.client["bootstrap.servers"].split(","), wire_client(self.client), TIMEOUT)

    def close(self) -> None:
        self.brokers.close()

    def create(self, topic: str, partitions: int = 1, replicas: int = 3, **config: str) -> str:
        settings = {name.replace("_", "."): value for name, value in config.items()}
        made = NewTopic(topic, partitions, replicas, config={"min.insync.replicas": str(min(replicas, 2)), **settings})
        create_and_await(self.admin, self.client, made, partitions)
        return topic

    def delete(self, topic: str) -> None:
        delete_and_await(self.admin, self.client, topic)

    def producer(self, **config: Any) -> Producer:
        return Producer({**self.client, "acks": "all", "linger.ms": 0, **config})

    def produce(self, topic: str, stamps: Iterable[int], partition: int = 0, size: int = 100, **config: Any) -> None:
        """One record for each timestamp (ms), in as few batches as the producer makes."""
        producer = self.producer(**{"linger.ms": 200, **config})
        for stamp in stamps:
            producer.produce(topic, b"x" * size, partition=partition, timestamp=stamp)
        assert producer.flush(30) == 0

    def partitions(self, topics: Collection[str]) -> dict[tuple[str, int], tuple[bytes, int]]:
        """(topic id, leader) of every partition that has a leader."""
        found = self.brokers.ask_first(metadata.API_KEY, metadata.LOWEST, metadata.HIGHEST, metadata.request)
        assert not isinstance(found, Failure), found
        answer = metadata.decode(found[1], found[0])
        self.brokers.learn(answer.brokers)
        return {
            (row.name, p.partition): (row.topic_id, p.leader)
            for row in answer.topics
            if row.name in topics and not row.error
            for p in row.partitions
            if p.leader >= 0 and not p.error
        }

    def ends(self, partitions: Mapping[tuple[str, int], tuple[bytes, int]]) -> dict[tuple[str, int], list[int]]:
        """[log start, last stable offset, high watermark] of each partition."""
        layouts: dict[int, dict[str, list[int]]] = {}
        for (topic, partition), (_, leader) in partitions.items():
            layouts.setdefault(leader, {}).setdefault(topic, []).append(partition)
        asked: dict[int, list[Request]] = {
            leader: [
                list_offsets.request(7, layout, end) for end in (End.LOG_START, End.LAST_STABLE, End.HIGH_WATERMARK)
            ]
            for leader, layout in layouts.items()
        }
        found: dict[tuple[str, int], list[int]] = {}
        for answers in self.brokers.ask(asked).values():
            assert not isinstance(answers, Failure), answers
            for data in answers:
                for topic, (numbers, errors, offsets) in list_offsets.decode(data).items():
                    assert not any(errors), (topic, errors)
                    for partition, offset in zip(numbers, offsets, strict=True):
                        found.setdefault((topic, partition), []).append(offset)
        return found

    def wanted(self, offsets: Mapping[tuple[str, int], Iterable[int]]) -> list[Wanted]:
        """The positions as a poll would ask for them now."""
        partitions = self.partitions({topic for topic, _ in offsets})
        ends = self.ends({key: partitions[key] for key in offsets})
        return [
            Wanted(topic, partitions[topic, p][0], p, offset, start, high, stable, partitions[topic, p][1])
            for (topic, p), asked in offsets.items()
            for start, stable, high in [ends[topic, p]]
            for offset in asked
        ]

    def poll(
        self, times: RecordTimes, offsets: Mapping[tuple[str, int], Iterable[int]], budget: float | None = None
    ) -> dict[Position, RecordTime]:
        """One whole poll: ends are read and observed, then positions are found."""
        self.brokers.begin()
        before = time.time()
        wanted = self.wanted(offsets)
        after = time.time()
        times.begin()
        for row in wanted:
            times.observe(row.topic, row.topic_id, {row.partition: (row.log_start, row.high_watermark)}, before, after)
        return times.find(wanted, self.brokers, budget)

    def find(self, topic: str, *offsets: int, times: RecordTimes | None = None) -> list[RecordTime | None]:
        """The times at these offsets of partition 0, in one poll; every one of them without a problem."""
        times = times or RecordTimes(interval=15, budget=10)
        found = self.poll(times, {(topic, 0): offsets})
        assert [] == times.problems
        return [found.get((topic, 0, offset)) for offset in offsets]

    def wait(self, condition: Any, what: str, seconds: float = 30) -> None:
        """Until the condition holds; looks again as long as the time is not up."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
            time.sleep(0.05)
