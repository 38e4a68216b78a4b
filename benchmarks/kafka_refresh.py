"""How long one poll of a Kafka cluster takes, beside the bare calls of confluent-kafka for the same facts.

Bare calls: metadata, the offsets of every group (all asked for before the first wait), latest and earliest offsets. One
poll of ours gives these and more (last stable offsets, group descriptions, brokers, states, lags, ages).

usage: python -m benchmarks.kafka_refresh HOST:PORT[,HOST:PORT...] [--partitions 5000] [--groups 20] [--runs 5]

Set-up makes topics `bench-0`, `bench-1`, ... of 100 partitions with a few records each, and commits for every group on
every partition; it is left in place for the next run, and taken away by --clean.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Iterable
from concurrent.futures import as_completed
from dataclasses import dataclass

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from exporter.clients.kafka.reader import KafkaReader
from exporter.config.model import Filter, Kafka
from exporter.model.kafka import KafkaSnapshot

TOPIC_SIZE = 100
RECORDS = 5
WAIT = 300  # seconds for one step of the set-up


@dataclass(frozen=True, slots=True)
class Took:
    """Seconds of one run."""

    wall: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.wall:.3f} s ({self.cpu:.3f} s CPU)"


class Bench:
    """The cluster that is measured."""

    def __init__(self, bootstrap: str, partitions: int, groups: int) -> None:
        self.bootstrap = bootstrap
        self.topics = [f"bench-{number}" for number in range(max(partitions // TOPIC_SIZE, 1))]
        self.groups = [f"bench-group-{number}" for number in range(groups)]
        self.size = min(partitions, TOPIC_SIZE)
        self.admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 3})

    def places(self, offset: int = -1001) -> list[TopicPartition]:
        """Every partition, with an offset."""
        return [TopicPartition(topic, number, offset) for topic in self.topics for number in range(self.size)]

    def set_up(self, replicas: int) -> None:
        """Topics, records and commits; what is there already is kept."""
        for topic in sorted(set(self.topics) - set(self.admin.list_topics(timeout=60).topics)):
            made = NewTopic(topic, self.size, replicas)
            self.admin.create_topics([made], operation_timeout=WAIT, request_timeout=WAIT)[topic].result(WAIT)
        ends: dict[TopicPartition, int] = {}
        settled(lambda: self.learn(ends) == len(self.places()))
        self._produce([place for place, end in ends.items() if not end])
        there = {group.group_id for group in self.admin.list_consumer_groups(request_timeout=60).result(60).valid}
        for group in [group for group in self.groups if group not in there]:
            self._commit(group, RECORDS if group in self.groups[9::10] else 1)  # one in ten is caught up

    def ends(self) -> dict[TopicPartition, int]:
        """The high watermark of every partition whose leader tells it."""
        found = self.admin.list_offsets(dict.fromkeys(self.places(), OffsetSpec.latest()), request_timeout=WAIT)
        return {place: future.result().offset for place, future in found.items() if future.exception(WAIT) is None}

    def learn(self, ends: dict[TopicPartition, int]) -> int:
        """Add what is known now to `ends`; how many are known."""
        ends.update(self.ends())
        return len(ends)

    def _produce(self, places: Iterable[TopicPartition]) -> None:
        producer = Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 500, "log_level": 0})
        for place in places:
            for _ in range(RECORDS):
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
        for future in [*self.admin.delete_topics(self.topics).values()]:
            future.exception(WAIT)
        for future in [*self.admin.delete_consumer_groups(self.groups).values()]:
            future.exception(WAIT)

    def bare(self) -> int:
        """The bare calls; how many committed offsets they found."""
        self.admin.list_topics(timeout=60)
        asked = [self.admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(g)])[g] for g in self.groups]
        commits = sum(len(future.result(60).topic_partitions or ()) for future in as_completed(asked))
        for spec in (OffsetSpec.latest(), OffsetSpec.earliest()):
            for future in self.admin.list_offsets(dict.fromkeys(self.places(), spec)).values():
                future.result(60)
        return commits

    def reader(self, ages: str) -> KafkaReader:
        """Our reader, looking at the topics of the set-up alone, as the bare calls do."""
        return KafkaReader(
            Kafka(
                bootstrap_servers=tuple(self.bootstrap.split(",")),
                topics=Filter(allow=("bench-.*",)),
                groups=Filter(allow=("bench-group-.*",)),
                ages=ages,  # type: ignore[arg-type]
                age_budget=60.0,
                timeout=30.0,
            )
        )


def settled(condition: Callable[[], bool]) -> None:
    """Wait until the condition holds."""
    deadline = time.monotonic() + WAIT
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(f"the set-up is not there after {WAIT} s")


def timed(work: Callable[[], object]) -> Took:
    """Seconds that some work takes."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Took(time.perf_counter() - wall, time.process_time() - cpu)


def best(runs: int, work: Callable[[], object]) -> Took:
    """The quickest of some runs: what is left then is the work, not what else the machine did."""
    return min((timed(work) for _ in range(runs)), key=lambda took: took.wall)


def told(snapshot: KafkaSnapshot) -> str:
    """What a snapshot holds, so that nobody measures an empty one."""
    rows = [topic for group in snapshot.groups for topic in group.topics]
    ages = [age for topic in rows for age in topic.ages]
    problems = [problem for run in snapshot.runs for problem in run.problems]
    estimated = sum(len(topic.error_bounds) for topic in rows)
    known = f"{sum(age is not None for age in ages)} ages ({estimated} estimated)"
    return f"{len(ages)} commits, {known}, {len(problems)} problems{'' if not problems else f', first: {problems[0]}'}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bootstrap", metavar="HOST:PORT[,...]")
    parser.add_argument("--partitions", type=int, default=5000)
    parser.add_argument("--groups", type=int, default=20)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--replicas", type=int, default=1)
    parser.add_argument("--clean", action="store_true")
    given = parser.parse_args()
    bench = Bench(given.bootstrap, given.partitions, given.groups)
    if given.clean:
        bench.clean()
        return
    bench.set_up(given.replicas)
    measure(bench, given.runs)


def measure(bench: Bench, runs: int) -> None:
    """Print one line for each thing measured."""
    bare = best(runs, bench.bare)
    print(f"bare confluent-kafka calls  {bare}")
    for ages in ("off", "exact"):
        reader = bench.reader(ages)
        first = timed(reader.poll)
        ours = best(runs, reader.poll)
        snapshot = reader.poll()
        reader.close()
        shares = f"{ours.wall / bare.wall:.2f} of the bare calls' time, {ours.cpu / bare.cpu:.2f} of their CPU"
        print(f"poll, ages {ages:<5}  {ours}, {shares}; first poll {first}")
        print(f"    {told(snapshot)}")
    print(f"resident at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB, librdkafka included")


if __name__ == "__main__":
    main()
