"""A cluster for the tests of the Kafka reader: written by confluent-kafka, read by the product."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from drills.lab.kafka import Kafka as LabKafka
from exporter.clients.kafka.brokers import Brokers, Failure, Request
from exporter.clients.kafka.reader import KafkaReader
from exporter.clients.kafka.wire import INT8, Cursor, compact, compact_array
from exporter.config.model import Filter, Kafka
from exporter.model.kafka import Group, GroupTopic, KafkaSnapshot, Topic
from tests.broker.kafka.topic_views import create_and_await, delete_and_await, wire_client

Found = TypeVar("Found")

GROUP = 120.0  # seconds: a member that joins twice waits for its old self, a session of 45 s (librdkafka#5569)


class LagWorld:
    """One cluster: a lab's, or that at HOST:PORT. What a test makes is taken away at its end."""

    def __init__(self, where: LabKafka | str) -> None:
        self.client = {"bootstrap.servers": where} if isinstance(where, str) else where.client
        self.watched = {"bootstrap_servers": where.split(",")} if isinstance(where, str) else where.watched()
        self.bootstrap = self.client["bootstrap.servers"]
        self.admin = AdminClient(self.client)
        self._topics: list[str] = []
        self._groups: list[str] = []
        self._readers: list[KafkaReader] = []

    def close(self) -> None:
        for reader in self._readers:
            reader.close()
        for group in self._groups:
            with suppress(KafkaException, TimeoutError):
                self.admin.delete_consumer_groups([group])[group].result(10)
        for topic in self._topics:
            with suppress(KafkaException, TimeoutError):
                self.admin.delete_topics([topic])[topic].result(10)

    def create(self, topic: str, partitions: int = 1, replicas: int = 3, **config: str) -> str:
        return self._create(NewTopic(topic, partitions, replicas, config=_dotted(config)), partitions)

    def create_placed(self, topic: str, replicas: list[list[int]], **config: str) -> str:
        """A topic whose replicas are on these brokers, for each partition."""
        made = NewTopic(topic, len(replicas), replica_assignment=replicas, config=_dotted(config))
        return self._create(made, len(replicas))

    def _create(self, made: NewTopic, partitions: int) -> str:
        self._topics.append(made.topic)
        create_and_await(self.admin, self.client, made, partitions)
        return str(made.topic)

    def leaders(self, topic: str) -> list[int]:
        """The leader of each partition; empty where there is no such topic."""
        found = self.admin.list_topics(timeout=10).topics.get(topic)
        return [part.leader for part in found.partitions.values()] if found and not found.error else []

    def delete(self, topic: str) -> None:
        delete_and_await(self.admin, self.client, topic)

    def produce(self, topic: str, count: int, partition: int = 0, timestamp: int | None = None) -> None:
        producer = Producer({**self.client, "acks": "all", "linger.ms": 50})
        more: dict[str, int] = {} if timestamp is None else {"timestamp": timestamp}
        refused: list[KafkaError] = []

        def delivered(error: KafkaError | None, _: object) -> None:
            refused.extend([] if error is None else [error])

        for number in range(count):
            value = f"record {number}".encode()
            producer.produce(topic, value, partition=partition, on_delivery=delivered, **more)
        assert producer.flush(30) == 0
        assert refused == []

    def commit(self, group: str, topic: str, offsets: Mapping[int, int]) -> str:
        """Commit as a group without members does."""
        if group not in self._groups:
            self._groups.append(group)
        consumer = Consumer({**self.client, "group.id": group, "enable.auto.commit": False})
        try:
            rows = [TopicPartition(topic, partition, offset) for partition, offset in offsets.items()]
            wait(lambda: _try_commit(consumer, rows), lambda done: done)
        finally:
            consumer.close()
        return group

    def delete_records(self, topic: str, before: int, partition: int = 0) -> None:
        row = TopicPartition(topic, partition, before)
        self.admin.delete_records([row])[row].result(30)

    def set_group(self, group: str, key: str, value: str) -> None:
        """Set a group's configuration: IncrementalAlterConfigs, which confluent-kafka offers for topics only."""
        setting = compact(key) + INT8.pack(0) + compact(value) + b"\0"
        resource = INT8.pack(32) + compact(group) + compact_array([setting]) + b"\0"
        request = Request(44, 1, compact_array([resource]) + b"\0" + b"\0")
        brokers = Brokers(self.bootstrap.split(","), wire_client(self.client), 10.0)
        answer = brokers.ask_first(44, 1, 1, lambda _: request)
        brokers.close()
        assert not isinstance(answer, Failure), answer
        cursor = Cursor(answer[1])
        cursor.int32()
        results = cursor.array(
            lambda: (cursor.int16(), cursor.nullable_text(), cursor.int8(), cursor.text(), cursor.tags())
        )
        assert [(code, words) for code, words, *_ in results] == [(0, None)]

    def reader(self, *names: str, **config: Any) -> KafkaReader:
        """A reader that looks at these topics and groups only."""
        chosen = Filter(allow=names or (".*",))
        given = {"topics": chosen, "groups": chosen, "timeout": 5.0, "slow_interval": 1.0, **config}
        made = KafkaReader(Kafka(**{**self.watched, **given}))
        self._readers.append(made)
        return made

    @contextmanager
    def members(self, group: str, topic: str, count: int, **config: Any) -> Iterator[list[Consumer]]:
        """So many consumers that have joined the group; they are polled only until all have joined."""
        self._groups.append(group)
        given = {**self.client, "group.id": group, "enable.auto.commit": False, **config}
        consumers = [Consumer(given) for _ in range(count)]
        try:
            for consumer in consumers:
                consumer.subscribe([topic])
            yield consumers
        finally:
            for consumer in consumers:
                consumer.close()


def _try_commit(consumer: Consumer, rows: Sequence[TopicPartition]) -> bool:
    try:
        return all(row.error is None for row in consumer.commit(offsets=list(rows), asynchronous=False))
    except KafkaException as error:
        if error.args[0].retriable() or error.args[0].code() in (14, 15, 16):
            return False
        raise


def _dotted(config: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "."): value for name, value in config.items()}


def wait(look: Callable[[], Found], good: Callable[[Found], bool], seconds: float = 40.0) -> Found:
    """Look again until it is good. Raises AssertionError with what was last seen."""
    deadline = time.monotonic() + seconds
    while True:
        seen = look()
        if good(seen):
            return seen
        assert time.monotonic() < deadline, f"still {seen!r} after {seconds} s"
        time.sleep(0.1)


def topic_of(snapshot: KafkaSnapshot, name: str) -> Topic:
    return next(topic for topic in snapshot.topics if topic.name == name)


def group_of(snapshot: KafkaSnapshot, name: str) -> Group:
    found = [group for group in snapshot.groups if group.name == name]
    assert found, f"no group {name!r} in {[group.name for group in snapshot.groups]}; {problems(snapshot)}"
    return found[0]


def row_of(snapshot: KafkaSnapshot, group: str, topic: str) -> GroupTopic:
    rows = [row for row in group_of(snapshot, group).topics if row.topic == topic]
    assert rows, f"group {group!r} has no row for {topic!r}; {problems(snapshot)}"
    return rows[0]


def lags(row: GroupTopic) -> dict[int, int | None]:
    return dict(zip(row.partitions, row.lags, strict=True))


def ages(row: GroupTopic) -> dict[int, float | None]:
    return dict(zip(row.partitions, row.ages, strict=True))


def problems(snapshot: KafkaSnapshot) -> dict[str, list[str]]:
    return {run.name: [f"{p.kind} {p.item}: {p.detail}" for p in run.problems] for run in snapshot.runs if run.problems}
