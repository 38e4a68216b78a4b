"""DescribeLogDirs (key 35): directories of one broker. Sizes of disks need version 4 (KIP-827, Kafka 3.3)."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from exporter.clients.kafka.connection import Request
from exporter.clients.kafka.wire import Cursor, MalformedError

API_KEY = 35
LOWEST, HIGHEST = 2, 5
ROW_BYTES = 22  # partition, size, lag, future, tags
UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class LogDirRow:
    """One directory. `used` sums the sizes of its partitions; total and usable are None where the broker can't say.

    `topics` are those with a log in it, also such as we may not describe.
    """

    path: str
    error: int
    used: int
    total: int | None
    usable: int | None
    topics: frozenset[str]


def request(version: int) -> Request:
    """All partitions: there is no way to ask for the directories alone that also gives what is used."""
    return Request(API_KEY, version, b"\0" + b"\0")


def decode(data: bytes, version: int) -> tuple[int, list[LogDirRow]]:
    """The error code of the whole answer (0 before version 3), and the directories."""
    cursor = Cursor(data)
    cursor.int32()  # throttle time
    code = cursor.int16() if version >= 3 else 0
    return code, cursor.array(lambda: _directory(cursor, version))


def _directory(cursor: Cursor, version: int) -> LogDirRow:
    code, path = cursor.int16(), cursor.text()
    topics = cursor.array(lambda: _topic_bytes(cursor))
    used = sum(size for _, size in topics)
    total = usable = UNKNOWN
    if version >= 4:
        total, usable = cursor.int64(), cursor.int64()
    if version >= 5:
        cursor.boolean()  # cordoned
    cursor.tags()
    names = frozenset(name for name, _ in topics)
    return LogDirRow(path, code, used, total if total >= 0 else None, usable if usable >= 0 else None, names)


def _topic_bytes(cursor: Cursor) -> tuple[str, int]:
    name = cursor.text()
    count = cursor.count()
    rows = cursor.raw(ROW_BYTES * count)
    if any(rows[ROW_BYTES - 1 :: ROW_BYTES]):
        raise MalformedError("the answer to DescribeLogDirs has rows of an unknown shape")
    cursor.tags()
    sizes = [size for (size,) in struct.iter_unpack(">4xq10x", rows)]
    if min(sizes, default=0) < 0:
        raise MalformedError("the answer to DescribeLogDirs has a partition of negative size")
    return name, sum(sizes)
