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

from benchmarks.kafka_world import KafkaWorld
from benchmarks.timing import best, timed
from exporter.model.kafka import KafkaSnapshot


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
    servers = given.bootstrap.split(",")
    client, watched = {"bootstrap.servers": given.bootstrap}, {"bootstrap_servers": servers}
    world = KafkaWorld(client, watched, given.partitions, given.groups)
    if given.clean:
        world.clean()
        return
    world.set_up(given.replicas)
    measure(world, given.runs)


def measure(world: KafkaWorld, runs: int) -> None:
    """Print one line for each thing measured."""
    bare = best(runs, world.bare)
    print(f"bare confluent-kafka calls  {bare}")
    for ages in ("off", "exact"):
        reader = world.reader(ages=ages, age_budget=60.0)
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
