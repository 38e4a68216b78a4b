"""ListOffsets (key 2): log start, last stable offset and high watermark of thousands of partitions in one request each.

Source: ListOffsetsRequest.json. Version 6 is the first flexible one; version 8 knows the earliest local offset.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import lru_cache

from exporter.clients.kafka.connection import Request
from exporter.clients.kafka.wire import Cursor, MalformedError, compact, varint

API_KEY = 2
LOWEST, HIGHEST = 6, 8
LOCAL_SINCE = 8
HEAD = struct.Struct(">ib")  # replica, isolation level
ROW = struct.Struct(">iiqb")  # partition, leader epoch, timestamp, tags
ROW_BYTES = 27  # partition, error, timestamp, offset, leader epoch, tags
EPOCH_UNKNOWN = -1
MOST_KEPT = 4096  # rows of a layout that is kept: one of a million rows is some 100 MB

Layout = Mapping[str, Sequence[int]]  # topic -> partitions


class End(Enum):
    """Which offset: (isolation level, timestamp). Asked in this order, so that each is at least the one before."""

    LOG_START = (0, -2)
    LAST_STABLE = (1, -1)
    HIGH_WATERMARK = (0, -1)
    LOCAL_START = (0, -4)


def request(version: int, layout: Layout, end: End) -> Request:
    """One offset of each of these partitions."""
    isolation, timestamp = end.value
    topics = b"".join([_topic(topic, partitions, timestamp) for topic, partitions in layout.items()])
    return Request(API_KEY, version, HEAD.pack(-1, isolation) + varint(len(layout) + 1) + topics + b"\0")


def _topic(topic: str, partitions: Sequence[int], timestamp: int) -> bytes:
    pack = ROW.pack
    rows = b"".join([pack(partition, EPOCH_UNKNOWN, timestamp, 0) for partition in partitions])
    return compact(topic) + varint(len(partitions) + 1) + rows + b"\0"


@lru_cache(maxsize=128)
def _kept_rows(count: int) -> struct.Struct:
    return _rows(count)


def _rows(count: int) -> struct.Struct:
    return struct.Struct(">" + "ih8xq5x" * count)


def decode(data: bytes) -> dict[str, tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]]:
    """Topic to (partitions, error codes, offsets), side by side. An offset of -1 without an error is unknown."""
    cursor = Cursor(data)
    cursor.int32()  # throttle time
    answer = {}
    for _ in range(cursor.count()):
        topic, count = cursor.text(), cursor.count()
        end = cursor.at + ROW_BYTES * count
        if end > len(data) or any(data[cursor.at + ROW_BYTES - 1 : end : ROW_BYTES]):
            raise MalformedError("the answer to ListOffsets has rows of an unknown shape")
        flat = (_kept_rows if count <= MOST_KEPT else _rows)(count).unpack_from(data, cursor.at)
        cursor.at = end
        cursor.tags()
        answer[topic] = (flat[::3], flat[1::3], flat[2::3])
    return answer
