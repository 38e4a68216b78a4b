"""Record batches and message sets as bytes, for tests: written from the format, not by the code under test."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Iterable, Sequence

import cramjam

COMPRESS = {
    0: bytes,
    1: lambda data: gzip.compress(data, mtime=0),
    2: lambda data: xerial(data),
    3: lambda data: bytes(cramjam.lz4.compress(data)),
    4: lambda data: bytes(cramjam.zstd.compress(data)),
}
APPEND_TIME, TRANSACTIONAL, CONTROL = 0x08, 0x10, 0x20


def xerial(data: bytes, block: int = 32 * 1024) -> bytes:
    parts = [b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)]
    for at in range(0, len(data), block):
        packed = bytes(cramjam.snappy.compress_raw(data[at : at + block]))
        parts += [struct.pack(">i", len(packed)), packed]
    return b"".join(parts)


def zigzag(number: int) -> bytes:
    value = (number << 1) ^ (number >> 63)
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def record(offset_delta: int, time_delta: int, value: bytes = b"value", key: bytes | None = None) -> bytes:
    keyed = zigzag(-1) if key is None else zigzag(len(key)) + key
    body = b"\0" + zigzag(time_delta) + zigzag(offset_delta) + keyed + zigzag(len(value)) + value + zigzag(0)
    return zigzag(len(body)) + body


def batch(
    base: int,
    records: Sequence[tuple[int, int]],
    *,
    last_delta: int | None = None,
    codec: int = 0,
    attributes: int = 0,
    producer: int = -1,
    max_timestamp: int | None = None,
    value: bytes = b"value",
    body: bytes | None = None,
) -> bytes:
    """`records` are (offset delta, timestamp in ms)."""
    first = records[0][1] if records else -1
    latest = max((stamp for _, stamp in records), default=-1) if max_timestamp is None else max_timestamp
    last = (records[-1][0] if records else 0) if last_delta is None else last_delta
    if body is None:
        body = b"".join(record(delta, stamp - first, value) for delta, stamp in records)
    packed = COMPRESS[codec](body)
    after_crc = struct.pack(">hiqqqhii", attributes | codec, last, first, latest, producer, 0, 0, len(records)) + packed
    return struct.pack(">qiibI", base, 9 + len(after_crc), 0, 2, 0) + after_crc


def marker(offset: int, producer: int, kind: str, stamp: int = 1) -> bytes:
    body = record(0, 0, b"\0\0\0\0\0\0", key=struct.pack(">hh", 0, {"abort": 0, "commit": 1}[kind]))
    return batch(offset, [(0, stamp)], attributes=TRANSACTIONAL | CONTROL, producer=producer, body=body)


def message(offset: int, stamp: int | None, value: bytes = b"value", attributes: int = 0) -> bytes:
    """A message of v1, or of v0 when it has no timestamp."""
    magic, stamped = (0, b"") if stamp is None else (1, struct.pack(">q", stamp))
    body = struct.pack(">Ibb", 0, magic, attributes) + stamped + struct.pack(">ii", -1, len(value)) + value
    return struct.pack(">qi", offset, len(body)) + body


def wrapper(last: int, stamp: int, inner: Iterable[bytes], codec: int, attributes: int = 0) -> bytes:
    return message(last, stamp, COMPRESS[codec](b"".join(inner)), attributes | codec)
