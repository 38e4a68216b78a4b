"""DescribeQuorum (key 55): the controllers' log. Its leader is the active controller (metadata names any broker)."""

from __future__ import annotations

from dataclasses import dataclass

from exporter.clients.kafka.connection import Request
from exporter.clients.kafka.wire import INT32, Cursor, compact, compact_array

API_KEY = 55
LOWEST, HIGHEST = 0, 2
TOPIC = "__cluster_metadata"


@dataclass(frozen=True, slots=True)
class Replica:
    """One voter or observer. Times are Unix milliseconds on the leader's clock, -1 where unknown (before version 1)."""

    node: int
    log_end: int
    last_fetch: int
    last_caught_up: int


@dataclass(frozen=True, slots=True)
class QuorumAnswer:
    """The one partition of the metadata topic."""

    error: int
    message: str | None
    leader: int
    epoch: int
    high_watermark: int
    voters: tuple[Replica, ...]
    observers: tuple[Replica, ...]


def request(version: int) -> Request:
    """The metadata partition."""
    partition = compact_array([INT32.pack(0) + b"\0"])
    return Request(API_KEY, version, compact_array([compact(TOPIC) + partition + b"\0"]) + b"\0")


def decode(data: bytes, version: int) -> QuorumAnswer:
    """With an error code other than 0 the rest is empty."""
    cursor = Cursor(data)
    code = cursor.int16()
    message = cursor.nullable_text() if version >= 2 else None
    for _ in range(cursor.count()):
        cursor.text()
        for _ in range(cursor.count()):
            return _partition(cursor, version)
    return QuorumAnswer(code, message, -1, -1, -1, (), ())


def _partition(cursor: Cursor, version: int) -> QuorumAnswer:
    cursor.int32()  # partition
    code = cursor.int16()
    message = cursor.nullable_text() if version >= 2 else None
    leader, epoch, high_watermark = cursor.int32(), cursor.int32(), cursor.int64()
    voters = cursor.array(lambda: _replica(cursor, version))
    observers = cursor.array(lambda: _replica(cursor, version))
    return QuorumAnswer(code, message, leader, epoch, high_watermark, tuple(voters), tuple(observers))


def _replica(cursor: Cursor, version: int) -> Replica:
    node = cursor.int32()
    if version >= 2:
        cursor.uuid()  # directory
    log_end = cursor.int64()
    times = (cursor.int64(), cursor.int64()) if version >= 1 else (-1, -1)
    cursor.tags()
    return Replica(node, log_end, *times)
