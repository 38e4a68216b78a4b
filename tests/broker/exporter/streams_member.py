"""A member of a streams group (KIP-1071), by its heartbeats alone: no client for Python has them.

Source: StreamsGroupHeartbeatRequest.json and StreamsGroupHeartbeatResponse.json of Kafka 4.4, version 0.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping

from exporter.clients.kafka.brokers import Brokers, Failure, Request
from exporter.clients.kafka.wire import INT8, INT32, Cursor, compact, compact_array
from tests.broker.kafka.topic_views import wire_client

HEARTBEAT = 88
NONE = b"\0"  # a null array or string, and no tagged fields
ABSENT, PRESENT = INT8.pack(-1), INT8.pack(1)
LEAVE = -1


class StreamsMember:
    """One member that would process one topic, without state."""

    def __init__(self, login: Mapping[str, str], group: str, topic: str) -> None:
        self.group, self.topic = group, topic
        self.member, self.epoch = str(uuid.uuid4()), 0
        client = wire_client(login)
        self.brokers = [Brokers([address], client, 30.0) for address in login["bootstrap.servers"].split(",")]

    def close(self) -> None:
        """Leave the group."""
        self.epoch = LEAVE
        self.beat()
        for broker in self.brokers:
            broker.close()

    def beat(self) -> str | None:
        """One heartbeat to the coordinator; what the broker objects to, if it does."""
        request = Request(HEARTBEAT, 0, self._body())
        said: str | None = "no broker coordinates the group"
        for broker in self.brokers:  # the coordinator is the one that does not refuse
            answer = broker.ask_first(HEARTBEAT, 0, 0, lambda _: request)
            assert not isinstance(answer, Failure), answer
            cursor = Cursor(answer[1])
            cursor.int32()  # throttle time
            code, message = cursor.int16(), cursor.nullable_text()
            if code == 0:
                cursor.text()
                self.epoch = cursor.int32()
                return None
            said = f"{code} {message}" if code not in {14, 15, 16} else said
        return said

    def _body(self) -> bytes:
        topology = PRESENT + INT32.pack(0) + compact_array([self._subtopology()]) + NONE
        joins = self.epoch == 0
        tasks = compact_array([]) if joins else NONE
        return b"".join(
            [
                compact(self.group), compact(self.member), INT32.pack(self.epoch), INT32.pack(0), NONE, NONE,
                INT32.pack(300_000 if joins else -1), topology if joins else ABSENT, tasks, tasks, tasks,
                compact("a process") if joins else NONE, ABSENT, compact_array([]) if joins else NONE, NONE, NONE,
                b"\0", NONE,
            ]
        )  # fmt: skip

    def _subtopology(self) -> bytes:
        nothing = compact_array([])
        return compact("0") + compact_array([compact(self.topic)]) + nothing * 5 + NONE
