"""Kafka's workload: topics and groups that come and go, records written and read, commits that move.

usage: python -m benchmarks.soak.kafka_work BOOTSTRAP BOOK GENERATION
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks.soak.truth import Book

STEADY, PARTS = "soak-steady", 6
VISIT_EVERY, VISIT_FOR = 15.0, 75.0  # seconds
RECORDS, COMMITTED, VISIT_PARTS = 12, 5, 3
WALK_EVERY = 5.0  # seconds between two commits of a walking group
MEMBER_FOR = 40.0  # seconds that the second consumer stays, and stays away
REQUEST = 15.0


class Visit:
    """A topic with two groups: one that stands still, and one whose commits walk on."""

    def __init__(self, name: str) -> None:
        self.topic, self.still, self.walking = name, f"{name}-still", f"{name}-walking"
        self.born = 0.0
        self.walked = 0
        self.walked_at = 0.0

    def things(self) -> list[tuple[str, str, list[list[str]]]]:
        """Kind, name, and what a page must show of it."""
        ends = [["end", self.topic, str(part)] for part in range(VISIT_PARTS)]
        groups = [
            ("group", group, [["commit", group, self.topic, str(part)] for part in range(VISIT_PARTS)])
            for group in (self.still, self.walking)
        ]
        return [("topic", self.topic, ends), *groups]


class KafkaWork:
    """All of it, in one thread but for the consumers."""

    def __init__(self, bootstrap: str, book: Book, generation: str) -> None:
        self.bootstrap, self.book, self.generation = bootstrap, book, generation
        self.stop = threading.Event()
        self.admin = AdminClient(self.client())
        self.producer = Producer(self.client(acks="all", **{"enable.idempotence": True, "linger.ms": 20}))
        self.visits: list[Visit] = []
        self.begun = 0
        self.visited_at = 0.0

    def client(self, **more: Any) -> dict[str, Any]:
        """Properties of every client."""
        return {"bootstrap.servers": self.bootstrap, "allow.auto.create.topics": False, "log_level": 2, **more}

    def run(self) -> None:
        """Until the process is ended."""
        self.create(STEADY, PARTS)
        for number in (1, 2):
            threading.Thread(target=self.consume, args=[number == 2], daemon=True).start()
        while not self.stop.wait(1.0):
            for part in range(PARTS):
                self.producer.produce(STEADY, b"x" * 100, partition=part)
            self.producer.poll(0)
            self.turn(time.time())

    def turn(self, now: float) -> None:
        """Whatever is due."""
        if now - self.visited_at >= VISIT_EVERY:
            self.visited_at = now
            self.arrive(Visit(f"soak-visit-{self.generation}-{self.begun}"))
            self.begun += 1
        for visit in list(self.visits):
            if time.time() - visit.born > VISIT_FOR:
                self.leave(visit)
            elif time.time() - visit.walked_at > WALK_EVERY and visit.walked < RECORDS:
                self.walk(visit)

    def create(self, topic: str, parts: int) -> None:
        """A topic all of whose partitions have leaders."""
        while not self.stop.is_set():
            try:
                self.admin.create_topics([NewTopic(topic, parts, 3)], request_timeout=REQUEST)[topic].result(REQUEST)
            except (KafkaException, TimeoutError) as error:
                print(f"create {topic}: {error}", file=sys.stderr)
            try:
                found = self.admin.list_topics(topic, timeout=REQUEST).topics[topic]
            except KafkaException:
                continue
            if len(found.partitions) == parts and all(part.leader >= 0 for part in found.partitions.values()):
                return
            self.stop.wait(0.5)

    def arrive(self, visit: Visit) -> None:
        """Make the topic, write its records, commit for its groups, and only then say that it is there."""
        self.create(visit.topic, VISIT_PARTS)
        times = self.fill(visit.topic)
        for group, offset in ((visit.still, COMMITTED), (visit.walking, 0)):
            self.commit(group, visit.topic, offset)
        for part, written in times.items():
            when = written[COMMITTED]
            self.book.write("waits", key=[visit.still, visit.topic, str(part)], low=when, high=when)
            self.book.write("ceiling", key=["commit", visit.still, visit.topic, str(part)], at=None, value=COMMITTED)
            self.book.write("ceiling", key=["end", visit.topic, str(part)], at=None, value=RECORDS)
            self.book.write("floor", key=["end", visit.topic, str(part)], at=time.time(), value=RECORDS)
        visit.born = time.time()
        for kind, name, parts in visit.things():
            self.book.write("born", kind=kind, name=name, at=visit.born, parts=parts)
        self.visits.append(visit)

    def fill(self, topic: str) -> dict[int, dict[int, float]]:
        """Partition -> offset -> the record's own time, once all records are confirmed."""
        times: dict[int, dict[int, float]] = {part: {} for part in range(VISIT_PARTS)}

        def delivered(error: object, message: Message) -> None:
            if error is None:
                times[message.partition()][message.offset()] = message.timestamp()[1] / 1000

        for part in range(VISIT_PARTS):
            for _ in range(RECORDS):
                self.producer.produce(topic, b"x" * 100, partition=part, on_delivery=delivered)
        while self.producer.flush(5.0) and not self.stop.is_set():
            pass
        if any(len(found) != RECORDS for found in times.values()):
            raise SystemExit(f"not every record of {topic} was confirmed: {times}")
        return times

    def commit(self, group: str, topic: str, offset: int) -> None:
        """One offset for every partition, again until none has an error."""
        rows = [TopicPartition(topic, part, offset) for part in range(VISIT_PARTS)]
        while not self.stop.is_set():
            try:
                request = ConsumerGroupTopicPartitions(group, rows)
                done = self.admin.alter_consumer_group_offsets([request], request_timeout=REQUEST)[group].result()
                if not any(row.error for row in done.topic_partitions):
                    return
            except KafkaException as error:
                print(f"commit of {group}: {error}", file=sys.stderr)
            self.stop.wait(0.5)

    def walk(self, visit: Visit) -> None:
        """The walking group's next commit."""
        visit.walked += 1
        self.commit(visit.walking, visit.topic, visit.walked)
        visit.walked_at = time.time()

    def leave(self, visit: Visit) -> None:
        """Delete the groups and the topic; again, at the next turn, what could not be deleted now."""
        now = time.time()
        for kind, name, _ in visit.things():
            self.book.write("dying", kind=kind, name=name, at=now)
        try:
            groups = self.admin.delete_consumer_groups([visit.still, visit.walking], request_timeout=REQUEST)
            left = [name for name, future in groups.items() if not done(future, "GROUP_ID_NOT_FOUND")]
            topics = self.admin.delete_topics([visit.topic], request_timeout=REQUEST) if not left else {}
            left += [name for name, future in topics.items() if not done(future, "UNKNOWN_TOPIC_OR_PART")]
        except KafkaException as error:
            left = [str(error)]
        if left:
            print(f"still there: {left}", file=sys.stderr)
            return
        self.visits.remove(visit)
        for kind, name, _ in visit.things():
            self.book.write("gone", kind=kind, name=name, at=time.time())

    def consume(self, comes_and_goes: bool) -> None:
        """A member of the steady group that commits what it has read; the second one leaves and returns."""
        while not self.stop.is_set():
            group = {"group.id": "soak-live", "enable.auto.commit": False, "auto.offset.reset": "earliest"}
            consumer = Consumer(self.client(**group, **{"session.timeout.ms": 6000}))
            consumer.subscribe([STEADY])
            until = time.monotonic() + MEMBER_FOR if comes_and_goes else float("inf")
            while not self.stop.is_set() and time.monotonic() < until:
                self.take(consumer)
            consumer.close()
            if comes_and_goes:
                self.stop.wait(MEMBER_FOR)

    def take(self, consumer: Consumer) -> None:
        """Read what there is and commit it. A commit that fails is made good by a later one."""
        if any(message.error() is None for message in consumer.consume(50, 1.0)):
            try:
                consumer.commit(asynchronous=False)
            except KafkaException as error:
                print(f"commit: {error}", file=sys.stderr)


def done(future: Any, already: str) -> bool:
    """Whether a deletion has succeeded, now or before."""
    error = future.exception(REQUEST)
    return error is None or (isinstance(error, KafkaException) and error.args[0].name() == already)


if __name__ == "__main__":
    KafkaWork(sys.argv[1], Book(Path(sys.argv[2])), sys.argv[3]).run()
