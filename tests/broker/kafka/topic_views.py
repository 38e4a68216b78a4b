"""What each broker by itself says of topics: they hear of changes one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing

from confluent_kafka.admin import AdminClient, NewTopic

from drills.lab.waiting import wait_for
from exporter.clients.kafka.brokers import Brokers, Failure
from exporter.clients.kafka.messages import metadata
from exporter.clients.kafka.properties import Client

PATIENCE = 60.0
TIMEOUT = 10.0


def wire_client(properties: Mapping[str, str]) -> Client:
    """Librdkafka's properties for our own connection."""
    return Client.of({name: value for name, value in properties.items() if name != "bootstrap.servers"}, {})


class TopicViews:
    """The brokers that these properties (librdkafka's) lead to, each asked for itself."""

    def __init__(self, login: Mapping[str, str]) -> None:
        client = wire_client(login)
        self._brokers = [Brokers([address], client, TIMEOUT) for address in login["bootstrap.servers"].split(",")]

    def close(self) -> None:
        for broker in self._brokers:
            broker.close()

    def leaders(self, topic: str) -> list[tuple[int, ...] | None]:
        """For each broker that answers the leader of each partition (-1: none); None where it knows no such topic."""
        found: list[tuple[int, ...] | None] = []
        for broker in self._brokers:
            broker.begin()
            answer = broker.ask_first(metadata.API_KEY, metadata.LOWEST, metadata.HIGHEST, metadata.request)
            if not isinstance(answer, Failure):
                rows = {row.name: row for row in metadata.decode(answer[1], answer[0]).topics}
                row = rows.get(topic)
                found.append(tuple(part.leader for part in row.partitions) if row and not row.error else None)
        return found

    def await_led(self, topic: str, partitions: int) -> None:
        """Until every broker knows all partitions, and a leader of each. Raises LabError with what they say."""

        def lack() -> str | None:
            seen = self.leaders(topic)
            led = all(view is not None and len(view) == partitions and -1 not in view for view in seen)
            return None if seen and led else f"leaders by broker: {seen}"

        wait_for(f"every broker knows the {partitions} partitions of {topic!r}", lack, PATIENCE)

    def await_gone(self, topic: str) -> None:
        """Until no broker knows the topic. Raises LabError with what they say."""

        def lack() -> str | None:
            seen = self.leaders(topic)
            return None if seen and not any(seen) else f"leaders by broker: {seen}"

        wait_for(f"no broker knows {topic!r}", lack, PATIENCE)


def create_and_await(admin: AdminClient, login: Mapping[str, str], made: NewTopic, partitions: int) -> None:
    """Create a topic, and return when every broker knows it whole."""
    admin.create_topics([made], request_timeout=60)[made.topic].result(60)
    with closing(TopicViews(login)) as views:
        views.await_led(made.topic, partitions)


def delete_and_await(admin: AdminClient, login: Mapping[str, str], topic: str) -> None:
    """Delete a topic, and return when no broker knows it."""
    admin.delete_topics([topic], request_timeout=60)[topic].result(60)
    with closing(TopicViews(login)) as views:
        views.await_gone(topic)
