"""The independent reader: ends, commits and members by other clients, each with the moments between which it was read.

Kafka is read by confluent-kafka, RabbitMQ's members by its management API. Its own process, since librdkafka's admin
calls were seen to crash around restarts of brokers.

usage: python -m benchmarks.soak.reader BOOTSTRAP,PORT,PORT,PORT BOOK   (the ports of RabbitMQ's management API)
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from benchmarks.soak.truth import Book
from drills.lab.probes import http_json

EVERY = 2.0  # seconds
REQUEST = 8.0
OURS = "soak-"


class Reader:
    """Reads all that the workload has made, and who is a member."""

    def __init__(self, bootstrap: str, management: list[int], book: Book) -> None:
        self.book, self.management = book, management
        self.admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 2})

    def run(self) -> None:
        """Until the process is ended."""
        threading.Thread(target=self.again, args=[self.nodes], daemon=True).start()
        self.again(self.brokers, self.ends, self.commits)

    def again(self, *reads: Callable[[], None]) -> None:
        """These, every two seconds."""
        pause = threading.Event()
        while not pause.wait(EVERY):
            for read in reads:
                try:
                    read()
                except (KafkaException, TimeoutError) as error:
                    print(f"{read.__name__}: {error}", file=sys.stderr)

    def brokers(self) -> None:
        """Which brokers are members."""
        begun = time.time()
        there = self.admin.list_topics(timeout=REQUEST).brokers
        self.book.write("members", kind="kafka", begun=begun, ended=time.time(), names=[str(one) for one in there])

    def nodes(self) -> None:
        """Which nodes run, in the eyes of the first that answers."""
        for port in self.management:
            begun = time.time()
            found = http_json(port, "/api/nodes?columns=name,running", user="guest:guest", timeout=REQUEST)
            if found is not None:
                names = [node["name"] for node in found if node["running"]]
                self.book.write("members", kind="rabbitmq", begun=begun, ended=time.time(), names=names)
                return

    def ends(self) -> None:
        """The high watermark of every partition."""
        topics = {name: row for name, row in self.admin.list_topics(timeout=REQUEST).topics.items() if OURS in name}
        places = [TopicPartition(name, part) for name, row in topics.items() for part in row.partitions]
        if not places:
            return
        begun = time.time()
        asked = self.admin.list_offsets(dict.fromkeys(places, OffsetSpec.latest()), request_timeout=REQUEST)
        answers = {place: future for place, future in asked.items() if future.exception(REQUEST) is None}
        offsets = {at: future.result().offset for at, future in answers.items()}
        # -1001 without an exception: a partition that was not answered, as in librdkafka while a broker goes
        values = {json.dumps([at.topic, str(at.partition)]): value for at, value in offsets.items() if value >= 0}
        self.book.write("read", kind="end", begun=begun, ended=time.time(), values=values)

    def commits(self) -> None:
        """The committed offsets of every group."""
        listed = self.admin.list_consumer_groups(request_timeout=REQUEST).result(REQUEST).valid
        groups = [group.group_id for group in listed if OURS in group.group_id]
        begun = time.time()
        asked = {
            group: self.admin.list_consumer_group_offsets(
                [ConsumerGroupTopicPartitions(group)], request_timeout=REQUEST
            )[group]
            for group in groups
        }
        values = {}
        for group, future in asked.items():
            if future.exception(REQUEST) is not None:
                continue
            for row in future.result().topic_partitions or ():
                if row.error is None and row.offset >= 0:
                    values[json.dumps([group, row.topic, str(row.partition)])] = row.offset
        self.book.write("read", kind="commit", begun=begun, ended=time.time(), values=values)


if __name__ == "__main__":
    first, *ports = sys.argv[1].rsplit(",", 3)
    Reader(first, [int(port) for port in ports], Book(Path(sys.argv[2]))).run()
