"""A Kafka cluster to measure on: many partitions, many groups, every group behind on every partition.

Each group has committed another offset, so that no two of them wait for the same record, and records are written in
several batches, so that one read does not find them all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import as_completed, wait
from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from drills.lab import LabTimeoutError
from drills.lab.waiting import wait_for
from exporter.clients.kafka.reader import KafkaReader
from exporter.config.model import Kafka

TOPIC_SIZE = 100  # partitions
BATCHES, BATCH = 2, 12  # record batches of each partition, records of each
RECORDS = BATCHES * BATCH
TOPICS_A_REQUEST = 10
WAIT = 300  # seconds for one step of the set-up
LOOK = 10  # seconds for one look at it


class KafkaWorld:
    """Topics `NAME-0`, `NAME-1`, ... and groups `NAME-group-0`, ... of one cluster.

    `client`: properties for librdkafka; `watched`: what the exporter's configuration needs to know of the cluster.
    """

    def __init__(
        self, client: Mapping[str, str], watched: Mapping[str, Any], partitions: int, groups: int, name: str = "bench"
    ) -> None:
        self.client, self.watched, self.name = dict(client), dict(watched), name
        self.size = min(partitions, TOPIC_SIZE)
        self.topics = [f"{name}-{number}" for number in range(max(partitions // TOPIC_SIZE, 1))]
        self.groups = [f"{name}-group-{number}" for number in range(groups)]
        self._renew()

    def _renew(self) -> None:
        """A client that has to learn who leads: one that was there when topics were made may never ask again."""
        self.admin = AdminClient({**self.client, "log_level": 3})

    @property
    def partitions(self) -> int:
        """How many there are."""
        return len(self.topics) * self.size

    def places(self, offset: int = -1001) -> list[TopicPartition]:
        """Every partition, with an offset."""
        return [TopicPartition(topic, number, offset) for topic in self.topics for number in range(self.size)]

    # making it

    def set_up(self, replicas: int = 1) -> None:
        """Topics, records and commits; what is there already is kept."""
        absent = sorted(set(self.topics) - set(self.admin.list_topics(timeout=60).topics))
        for first in range(0, len(absent), TOPICS_A_REQUEST):
            made = [NewTopic(topic, self.size, replicas) for topic in absent[first : first + TOPICS_A_REQUEST]]
            asked = self.admin.create_topics(made, operation_timeout=WAIT, request_timeout=WAIT)
            for future in asked.values():
                future.result(WAIT)
        ends: dict[TopicPartition, int] = {}
        settled("every partition has a leader", self._leaderless)
        settled("every partition has an end", lambda: self._learn(ends))
        self._produce([place for place, end in ends.items() if not end])
        there = {group.group_id for group in self.admin.list_consumer_groups(request_timeout=60).result(60).valid}
        for number, group in enumerate(self.groups):
            if group not in there:
                self._commit(group, number % (RECORDS - 1))

    def _leaderless(self) -> str | None:
        rows = self.admin.list_topics(timeout=60).topics
        led = sum(
            part.leader >= 0 for topic in self.topics if topic in rows for part in rows[topic].partitions.values()
        )
        return None if led == self.partitions else f"{led} of {self.partitions}"

    def _learn(self, ends: dict[TopicPartition, int]) -> str | None:
        """Add the ends that leaders tell now; the rest is asked for again by another client."""
        self._renew()
        left = [place for place in self.places() if place not in ends]
        asked = self.admin.list_offsets(dict.fromkeys(left, OffsetSpec.latest()), request_timeout=LOOK)
        done, _ = wait(asked.values(), LOOK)
        told = {place: future for place, future in asked.items() if future in done and not future.exception()}
        ends.update({place: future.result().offset for place, future in told.items()})
        return None if len(ends) == self.partitions else f"{len(ends)} of {self.partitions}"

    def _produce(self, places: Iterable[TopicPartition]) -> None:
        producer = Producer({**self.client, "linger.ms": 1000, "batch.num.messages": BATCH, "log_level": 0})
        for _ in range(BATCHES):
            for place in places:
                for _ in range(BATCH):
                    producer.produce(place.topic, b"x" * 200, partition=place.partition)
                producer.poll(0)
            if producer.flush(WAIT):
                raise SystemExit("the records of the set-up were not all written: is the cluster overloaded?")

    def _commit(self, group: str, offset: int) -> None:
        """Commits of one group, again for those that failed: a future that succeeds may hold errors."""
        left = self.places(offset)
        deadline = time.monotonic() + WAIT
        while left and time.monotonic() < deadline:
            request = ConsumerGroupTopicPartitions(group, left)
            try:
                answer = self.admin.alter_consumer_group_offsets([request], request_timeout=60)[group].result()
            except KafkaException:
                continue
            failed = {(place.topic, place.partition) for place in answer.topic_partitions if place.error}
            left = [place for place in left if (place.topic, place.partition) in failed]
        if left:
            raise SystemExit(f"{len(left)} commits of {group} failed")

    def clean(self) -> None:
        """Take the set-up away."""
        for future in self.admin.delete_consumer_groups(self.groups).values():
            future.exception(WAIT)
        for future in self.admin.delete_topics(self.topics).values():
            future.exception(WAIT)
        settled("the topics are gone", self._left)

    def _left(self) -> str | None:
        return ", ".join(set(self.topics) & set(self.admin.list_topics(timeout=60).topics)) or None

    # reading it

    def bare(self) -> int:
        """What a program on confluent-kafka must call to know the same; how many committed offsets that found."""
        self.admin.list_topics(timeout=60)
        asked = [self.admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(g)])[g] for g in self.groups]
        commits = sum(len(future.result(60).topic_partitions or ()) for future in as_completed(asked))
        for spec in (OffsetSpec.latest(), OffsetSpec.earliest()):
            for future in self.admin.list_offsets(dict.fromkeys(self.places(), spec)).values():
                future.result(60)
        return commits

    def section(self, groups: str = ".*", **more: Any) -> dict[str, Any]:
        """The exporter's configuration of this cluster, for the topics and groups of the set-up alone."""
        filters = {"topics": {"allow": [f"{self.name}-[0-9]+"]}, "groups": {"allow": [f"{self.name}-group-{groups}"]}}
        return {"cluster": "bench", **self.watched, **filters, "timeout": 30.0, **more}

    def reader(self, groups: str = ".*", **more: Any) -> KafkaReader:
        """The exporter's own reader."""
        return KafkaReader(Kafka.model_validate(self.section(groups, **more)))


def settled(claim: str, lack: Callable[[], str | None]) -> None:
    """Wait until it is so. Ends the program with what was missing."""
    try:
        wait_for(claim, lack, WAIT)
    except LabTimeoutError as error:
        raise SystemExit(f"the set-up is not there: {error}") from None
