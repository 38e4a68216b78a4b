"""Message sets of the formats before batches (v0 has no timestamps, v1 has), as old topics still hold them.

Format: apache/kafka, LegacyRecord.java and AbstractLegacyRecordBatch.java. Compressed messages are one wrapper with the
offset of its last message; the inner offsets of v1 are relative.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from exporter.clients.kafka.record_compression import RecordError, unpack

ENTRY = struct.Struct(">qiIbb")  # offset, size of what follows, crc, magic, attributes
TIMESTAMP = struct.Struct(">q")
LENGTH = struct.Struct(">i")
CODEC, APPEND_TIME = 0x07, 0x08
NO_TIMESTAMP = -1
SPAN = 12  # offset and size

Message = tuple[int, int, int, int, int]  # offset, timestamp in ms, attributes, where the key begins, where it ends


def legacy_records(data: bytes, at: int, end: int) -> tuple[int, Iterator[tuple[int, int]]]:
    """(last offset, (offset, timestamp in ms; -1 none) of each record) of one whole v0 or v1 message."""
    offset, timestamp, attributes, key_at, _ = read_message(data, at, end)
    if not attributes & CODEC:
        return offset, iter([(offset, timestamp)])
    magic = data[at + 16]
    return offset, inner_records(offset, timestamp, attributes, magic, read_value(data, key_at, end))


def read_message(data: bytes | memoryview, at: int, end: int) -> Message:
    """The message that begins at `at`."""
    try:
        offset, size, _, magic, attributes = ENTRY.unpack_from(data, at)
        timestamp = TIMESTAMP.unpack_from(data, at + ENTRY.size)[0] if magic else NO_TIMESTAMP
    except struct.error:
        raise RecordError("a message ends too early") from None
    after = at + SPAN + size
    if size < ENTRY.size - SPAN or after > end or magic not in (0, 1):
        raise RecordError(f"the message at offset {offset} does not fit into its set")
    return offset, timestamp, attributes, at + ENTRY.size + (TIMESTAMP.size if magic else 0), after


def read_value(data: bytes, key_at: int, end: int) -> memoryview:
    """The value of a message, which for a wrapper is a compressed message set."""
    try:
        (length,) = LENGTH.unpack_from(data, key_at)
        at = key_at + LENGTH.size + max(length, 0)
        (length,) = LENGTH.unpack_from(data, at)
    except struct.error:
        raise RecordError("a message ends too early") from None
    at += LENGTH.size
    if length < 0 or at + length > end:
        raise RecordError("the value of a message does not fit into it")
    return memoryview(data)[at : at + length]


def inner_records(last: int, stamp: int, attributes: int, magic: int, packed: memoryview) -> Iterator[tuple[int, int]]:
    """(offset, timestamp in ms) of each message in a wrapper."""
    inner = unpack(attributes & CODEC, packed)
    messages, at = [], 0
    while at < len(inner):
        offset, timestamp, inner_attributes, _, at = read_message(inner, at, len(inner))
        if inner_attributes & CODEC:
            raise RecordError("a compressed message within a compressed message")
        messages.append((offset, timestamp))
    base = last - messages[-1][0] if magic and messages else 0
    for offset, timestamp in messages:
        yield base + offset, stamp if attributes & APPEND_TIME else timestamp
