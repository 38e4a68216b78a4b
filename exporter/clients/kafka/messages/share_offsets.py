"""DescribeShareGroupOffsets (key 90): start offset of each share partition, and from version 1 (KIP-1226) its lag."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from exporter.clients.kafka.connection import Request
from exporter.clients.kafka.wire import Cursor, compact, compact_array

API_KEY = 90
LOWEST, HIGHEST = 0, 1


class SharePartition(NamedTuple):
    """One share partition. `start` is -1 until the group has begun on it; `lag` is -1 where it is unknown."""

    partition: int
    start: int
    lag: int
    error: int


@dataclass(frozen=True, slots=True)
class ShareOffsets:
    """The share partitions of one group by topic."""

    group: str
    error: int
    message: str | None
    topics: dict[str, list[SharePartition]]


def request(version: int, groups: Iterable[str]) -> Request:
    """All topics of these groups."""
    return Request(API_KEY, version, compact_array(compact(group) + b"\0" + b"\0" for group in groups) + b"\0")


def decode(data: bytes, version: int) -> list[ShareOffsets]:
    """The groups of one answer."""
    cursor = Cursor(data)
    cursor.int32()  # throttle time
    return cursor.array(lambda: _group(cursor, version))


def _group(cursor: Cursor, version: int) -> ShareOffsets:
    group = cursor.text()
    topics = dict(cursor.array(lambda: _topic(cursor, version)))
    code, message = cursor.int16(), cursor.nullable_text()
    cursor.tags()
    return ShareOffsets(group, code, message, topics)


def _topic(cursor: Cursor, version: int) -> tuple[str, list[SharePartition]]:
    name = cursor.text()
    cursor.uuid()
    partitions = cursor.array(lambda: _partition(cursor, version))
    cursor.tags()
    return name, partitions


def _partition(cursor: Cursor, version: int) -> SharePartition:
    partition, start = cursor.int32(), cursor.int64()
    cursor.int32()  # leader epoch
    lag = cursor.int64() if version >= 1 else -1
    code = cursor.int16()
    cursor.nullable_text()
    cursor.tags()
    return SharePartition(partition, start, lag, code)
