"""ListGroups (key 16): every group that a broker coordinates, of every type. Version 5 has the type (Kafka 3.8 on)."""

from __future__ import annotations

from typing import NamedTuple

from exporter.clients.kafka.connection import Request
from exporter.clients.kafka.wire import Cursor

API_KEY = 16
LOWEST, HIGHEST = 3, 5


class ListedGroup(NamedTuple):
    """One group; state and type are empty where the broker is too old to say."""

    group: str
    protocol_type: str
    state: str
    type: str


def request(version: int) -> Request:
    """All states, all types."""
    return Request(API_KEY, version, b"\1" * (version - 3) + b"\0")


def decode(data: bytes, version: int) -> tuple[int, list[ListedGroup]]:
    """The error code of the whole answer, and the groups."""
    cursor = Cursor(data)
    cursor.int32()  # throttle time
    code = cursor.int16()
    groups = []
    for _ in range(cursor.count()):
        group, protocol_type = cursor.text(), cursor.text()
        state = cursor.text() if version >= 4 else ""
        kind = cursor.text() if version >= 5 else ""
        cursor.tags()
        groups.append(ListedGroup(group, protocol_type, state, kind))
    return code, groups
