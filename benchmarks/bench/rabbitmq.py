"""(g) Reading a RabbitMQ cluster with many queues."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pika

from benchmarks.timing import Took, best, timed
from drills.lab import Lab
from drills.lab.waiting import wait_for
from exporter.clients.rabbitmq.reader import RabbitReader
from exporter.config.model import RabbitMQ
from exporter.metrics import registry
from exporter.model.rabbitmq import RabbitSnapshot

SETTLED = 120.0  # seconds until the broker's statistics know every message


@dataclass(frozen=True, slots=True)
class Polled:
    """The first poll and the best of some later ones."""

    queues: int
    series: int
    first: Took
    later: Took


def poll(lab: Lab, queues: int, runs: int) -> Polled:
    """Make the queues, wait until every message is counted, and poll."""
    made = fill(lab, queues)
    urls = tuple(f"http://127.0.0.1:{lab.ports.management(node)}" for node in (1, 2, 3))
    reader = RabbitReader(RabbitMQ(urls=urls, timeout=30.0))
    try:
        first = timed(reader.poll)
        wait_for("every message is counted", lambda: lack(reader.poll, made), SETTLED)
        later = best(runs, reader.poll)
        measured, _ = registry.measure(reader.poll())
    finally:
        reader.close()
    return Polled(made, sum(map(len, measured.values())), first, later)


def lack(look: Callable[[], RabbitSnapshot], queues: int) -> str | None:
    """What a poll does not know yet."""
    counted = sum(queue.ready or 0 for queue in look().queues)
    return None if counted == queues else f"{counted} of {queues} messages"


def fill(lab: Lab, queues: int) -> int:
    """A third of the queues on each node, a message in each; how many there are."""

    def of_node(number: int) -> None:
        parameters = pika.ConnectionParameters("127.0.0.1", lab.ports.amqp(number), heartbeat=0)
        with pika.BlockingConnection(parameters) as connection:
            channel = connection.channel()
            for queue in range(queues // 3):
                channel.queue_declare(f"bench.{number}.{queue}", durable=True)
                channel.basic_publish("", f"bench.{number}.{queue}", b"x")

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(of_node, (1, 2, 3)))
    return queues // 3 * 3
