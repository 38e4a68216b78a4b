"""Which records the bytes of a Fetch answer hold, and which of them a reader of committed data sees.

Batch format v2: apache/kafka, DefaultRecordBatch.java and DefaultRecord.java. Bytes come from the network and are not
trusted: every length is checked, work is bounded by their number, and whatever is wrong is one RecordError. The CRC is
not checked: CRC-32C in plain Python costs more than all the rest, and a damaged length or offset is noticed anyway.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from exporter.clients.kafka.record_compression import RecordError, unpack
from exporter.clients.kafka.record_message_set import legacy_records

# base offset, length, leader epoch, magic, crc, attributes, last offset delta, base timestamp, max timestamp,
# producer id, producer epoch, base sequence, number of records
HEADER = struct.Struct(">qiibIhiqqqhii")
SPAN = struct.Struct(">qi")  # base offset, length of what follows
MAGIC_AT = 16
SHORTEST = {0: 14, 1: 22, 2: HEADER.size - SPAN.size}  # magic -> least length
CODEC, APPEND_TIME, TRANSACTIONAL, CONTROL = 0x07, 0x08, 0x10, 0x20
MARKER = struct.Struct(">hh")  # key of a control record: version, type
ABORT = 0

Buffer = bytes | memoryview
Aborted = Sequence[tuple[int, int]]  # producer id, first offset of its aborted transaction


class Batch(NamedTuple):
    """What the header of one batch says."""

    base: int
    last: int
    attributes: int
    base_timestamp: int
    max_timestamp: int
    producer: int
    records: int
    records_at: int
    end: int


class Scan(NamedTuple):
    """What was found: asked offset -> (offset, timestamp in ms; -1 none) of the first visible record at or after it.

    For an offset that is not in `found` nothing visible lies between it and `next_offset`. When that is no further than
    where reading began, no whole batch was there: more bytes are needed, or nothing is left.
    """

    found: dict[int, tuple[int, int]]
    next_offset: int
    largest_batch: int  # bytes


class Transactions:
    """Follows the aborted transactions of a Fetch answer along its batches, as the Java consumer does."""

    def __init__(self, aborted: Aborted) -> None:
        self._coming = sorted(aborted, key=lambda entry: entry[1], reverse=True)
        self._aborted: set[int] = set()

    def hides(self, batch: Batch, data: Buffer) -> bool:
        """Whether no record of this batch is visible: control records, or data of a transaction that was aborted."""
        while self._coming and self._coming[-1][1] <= batch.last:
            self._aborted.add(self._coming.pop()[0])
        if batch.attributes & CONTROL:
            if batch.producer in self._aborted and marker_type(batch, data) == ABORT:
                self._aborted.discard(batch.producer)
            return True
        return bool(batch.attributes & TRANSACTIONAL) and batch.producer in self._aborted


def scan(data: bytes, start: int, asked: Sequence[int], aborted: Aborted = ()) -> Scan:
    """Find the first visible record at or after each offset of `asked` (all >= `start`, where the fetch began).

    Raises RecordError. A truncated batch at the end is left out.
    """
    waiting = sorted(asked, reverse=True)
    found: dict[int, tuple[int, int]] = {}
    transactions, at, next_offset, largest = Transactions(aborted), 0, start, 0
    while waiting and len(data) - at > MAGIC_AT:
        size = batch_size(data, at)
        if size > len(data) - at:
            break
        last, records = visible_records(data, at, size, transactions)
        if last >= waiting[-1]:
            take(records, waiting, found)
        at, next_offset, largest = at + size, max(next_offset, last + 1), max(largest, size)
    return Scan(found, next_offset, largest)


def batch_size(data: bytes, at: int) -> int:
    """Whole size in bytes of the batch that begins at `at`."""
    _, length = SPAN.unpack_from(data, at)
    shortest = SHORTEST.get(data[at + MAGIC_AT])
    if shortest is None:
        raise RecordError(f"record format {data[at + MAGIC_AT]} is not known")
    if length < shortest:
        raise RecordError(f"a batch says it is {length} bytes long")
    return SPAN.size + int(length)


def visible_records(
    data: bytes, at: int, size: int, transactions: Transactions
) -> tuple[int, Iterator[tuple[int, int]]]:
    """(last offset, (offset, timestamp in ms) of each visible record) of one whole batch."""
    if data[at + MAGIC_AT] < 2:
        return legacy_records(data, at, at + size)
    batch = read_header(data, at, size)
    if transactions.hides(batch, data):
        return batch.last, iter(())
    return batch.last, batch_records(batch, data)


def read_header(data: bytes, at: int, size: int) -> Batch:
    """The header of a v2 batch."""
    base, _, _, _, _, attributes, delta, first, latest, producer, _, _, count = HEADER.unpack_from(data, at)
    if base < 0 or delta < 0 or count < 0:
        raise RecordError(f"a batch at offset {base} says it ends {delta} later and has {count} records")
    return Batch(base, base + delta, attributes, first, latest, producer, count, at + HEADER.size, at + size)


def take(records: Iterator[tuple[int, int]], waiting: list[int], found: dict[int, tuple[int, int]]) -> None:
    """Move the offsets that these records answer from `waiting` (smallest last) to `found`."""
    for record in records:
        while waiting and waiting[-1] <= record[0]:
            found[waiting.pop()] = record
        if not waiting:
            return


def batch_records(batch: Batch, data: bytes) -> Iterator[tuple[int, int]]:
    """(offset, timestamp in ms) of each record. Compaction leaves holes: each record has its own offset delta."""
    if not batch.records:
        return
    records, at, end = open_records(batch, data)
    appended = batch.attributes & APPEND_TIME
    span = batch.last - batch.base
    for _ in range(batch.records):
        try:
            length, at = read_varint(records, at)
            after = at + length
            delta_ms, at = read_varint(records, at + 1)  # one byte of attributes
            delta, at = read_varint(records, at)
        except IndexError:
            raise RecordError(f"a record after offset {batch.base} ends too early") from None
        if not at <= after <= end or not 0 <= delta <= span:
            raise RecordError(f"a record after offset {batch.base} does not fit into its batch")
        yield batch.base + delta, batch.max_timestamp if appended else batch.base_timestamp + delta_ms
        at = after


def open_records(batch: Batch, data: bytes) -> tuple[Buffer, int, int]:
    """(bytes, where the records begin, where they end), unpacked when they are compressed."""
    codec = batch.attributes & CODEC
    if not codec:
        return data, batch.records_at, batch.end
    unpacked = unpack(codec, memoryview(data)[batch.records_at : batch.end])
    return unpacked, 0, len(unpacked)


def marker_type(batch: Batch, data: Buffer) -> int:
    """Type of a control batch's one record: 0 abort, 1 commit."""
    at = batch.records_at
    try:
        _, at = read_varint(data, at)
        _, at = read_varint(data, at + 1)
        _, at = read_varint(data, at)
        _, at = read_varint(data, at)  # length of the key
        return int(MARKER.unpack_from(data, at)[1])
    except (IndexError, struct.error):
        raise RecordError(f"the control record at offset {batch.base} ends too early") from None


def read_varint(data: Buffer, at: int) -> tuple[int, int]:
    """(value, where it ends) of a zigzag varint of at most ten bytes. Raises IndexError where the bytes end."""
    byte = data[at]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), at + 1
    value, shift = byte & 0x7F, 7
    while True:
        at += 1
        byte = data[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at + 1
        shift += 7
        if shift > 63:
            raise RecordError("a number in a record has more than ten bytes")
