"""One Kafka cluster: a poll from the first request to the frozen snapshot."""

from __future__ import annotations

from typing import Any

from exporter.clients.kafka.joining import join
from exporter.clients.kafka.parts import Parts
from exporter.clients.kafka.reading import Reading
from exporter.config.model import Kafka
from exporter.model.kafka import KafkaSnapshot

ORDER = (Reading.read_commits, Reading.read_ends)
"""Commits before ends, so that lag cannot be negative by race: what is negative then is real."""


class KafkaReader:
    """Reads one cluster; used by one thread at a time."""

    def __init__(self, config: Kafka) -> None:
        self._parts = Parts(config)

    def poll(self) -> KafkaSnapshot:
        """Read the cluster. Never raises because of a broker."""
        reading = Reading(self._parts)
        if reading.begin():
            reading.read_groups()
            reading.read_slow()
            for step in ORDER:
                step(reading)
        return join(reading)

    def state(self) -> dict[str, Any]:
        """What should survive a restart, as JSON values."""
        parts = self._parts
        return {"memory": parts.memory.state(), "ages": parts.times.state(), "brokers": sorted(parts.membership.seen)}

    def restore(self, state: dict[str, Any]) -> None:
        """Take back what `state` gave; what does not fit is ignored."""
        parts = self._parts
        if isinstance(state.get("memory"), dict):
            parts.memory.restore(state["memory"])
        if isinstance(state.get("ages"), dict):
            parts.times.restore(state["ages"])
        if isinstance(state.get("brokers"), list):
            parts.membership.seen = {broker for broker in state["brokers"] if isinstance(broker, int)}

    def close(self) -> None:
        """Close every connection. May be called twice."""
        self._parts.close()
