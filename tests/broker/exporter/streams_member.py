"""A member of a streams group (KIP-1071): heartbeats and a commit. No client for Python has them.

Source: StreamsGroupHeartbeatRequest.json and StreamsGroupHeartbeatResponse.json of Kafka 4.4, version 0;
OffsetCommitRequest.json and OffsetCommitResponse.json, version 9.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping

from exporter.clients.kafka.brokers import Brokers, Failure, Request
from exporter.clients.kafka.wire import INT8, INT32, INT64, Cursor, compact, compact_array
from tests.broker.kafka.topic_views import wire_client

HEARTBEAT, COMMIT = 88, 8
NONE = b"\0"  # a null array or string, and no tagged fields
NOT_COORDINATOR = {14, 15, 16}  # loading, not available, another one
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

        def read(cursor: Cursor) -> tuple[int, str | None]:
            code, message = cursor.int16(), cursor.nullable_text()
            if code == 0:
                cursor.text()
                self.epoch = cursor.int32()
            return code, message

        return self._ask_coordinator(Request(HEARTBEAT, 0, self._body()), read)

    def commit(self, offset: int) -> str | None:
        """Commit an offset of partition 0; what the broker objects to. A group without one goes when it is empty."""
        partition = INT32.pack(0) + INT64.pack(offset) + INT32.pack(-1) + NONE + NONE
        topic = compact(self.topic) + compact_array([partition]) + NONE
        who = compact(self.group) + INT32.pack(self.epoch) + compact(self.member) + NONE

        def read(cursor: Cursor) -> tuple[int, str | None]:
            cursor.count(), cursor.text(), cursor.count(), cursor.int32()  # one topic, one partition
            return cursor.int16(), None

        return self._ask_coordinator(Request(COMMIT, 9, who + compact_array([topic]) + NONE), read)

    def _ask_coordinator(self, request: Request, read: Callable[[Cursor], tuple[int, str | None]]) -> str | None:
        """What it objects to; the coordinator is the broker that does not refuse. `read` gives code and message."""
        said: str | None = "no broker coordinates the group"
        for broker in self.brokers:
            answer = broker.ask_first(request.api_key, request.version, request.version, lambda _: request)
            assert not isinstance(answer, Failure), answer
            cursor = Cursor(answer[1])
            cursor.int32()  # throttle time
            code, message = read(cursor)
            if code == 0:
                return None
            said = f"{code} {message}" if code not in NOT_COORDINATOR else said
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
