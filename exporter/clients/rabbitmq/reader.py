"""One RabbitMQ cluster, polled: the management API for what the cluster knows, each node for what it knows best."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from exporter.clients.rabbitmq.background import Background
from exporter.clients.rabbitmq.collecting import Slow
from exporter.clients.rabbitmq.management import Management
from exporter.clients.rabbitmq.node_endpoints import NodeEndpoints
from exporter.clients.rabbitmq.poll import Known, Poll
from exporter.clients.rabbitmq.probes import Probes
from exporter.clients.rabbitmq.questions import Layout
from exporter.config.model import RabbitMQ
from exporter.model.rabbitmq import QueueName, RabbitSnapshot, StreamConsumer
from exporter.model.rabbitmq_memory import QueueMemory
from exporter.model.rabbitmq_streams import Tracked

THREADS = 64


class RabbitReader:
    """Owns the connections and the history of one cluster. Used by one thread at a time."""

    def __init__(self, config: RabbitMQ) -> None:
        self.config = config
        self.pool = ThreadPoolExecutor(THREADS, thread_name_prefix=f"rabbitmq-{config.cluster}")
        self.management = Management(config)
        self.endpoints = NodeEndpoints(config, self.pool)
        self.probes = Probes(config, self.pool)
        self.memory = QueueMemory()
        self.layout: Slow[Layout] = Slow("topology", config.slow_interval)
        self.streams: Slow[tuple[StreamConsumer, ...]] = Slow("streams", config.slow_interval)
        self.ages: Background[dict[QueueName, float]] = Background(
            "quorum_ages", "quorum queues", self.pool, config.interval
        )
        self.tracking: Background[list[Tracked]] = Background("streams", "streams", self.pool, config.slow_interval)
        self.known = Known()
        self.contradictions: Counter[str] = Counter()

    def poll(self) -> RabbitSnapshot:
        """Read what can be read within the deadlines. Never raises because of a broker."""
        return Poll(self).snapshot()

    def patience(self, calling: Background[Any]) -> float:
        """How long a poll waits for such a call: a timeout for the first, so that one poll alone is complete."""
        return self.config.timeout if calling.run is None else min(self.config.timeout, self.config.interval / 3)

    def state(self) -> dict[str, Any]:
        """The history of each queue."""
        return self.memory.state()

    def restore(self, state: dict[str, Any]) -> None:
        """Take back what `state` gave; what doesn't fit is left out."""
        self.memory.restore(state)

    def close(self) -> None:
        """Close every connection. May be called twice."""
        self.pool.shutdown(wait=False, cancel_futures=True)
        for part in (self.management, self.endpoints, self.probes):
            part.close()
