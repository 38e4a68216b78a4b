"""The bytes of a compressed record batch, unpacked up to a limit, whatever the codec says about itself."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable

import cramjam

MOST_UNPACKED = 64 * 1024 * 1024  # bytes; what unpacks to more is not read for an age
FIRST_GUESS = 64 * 1024
XERIAL_MAGIC = b"\x82SNAPPY\x00"
XERIAL_HEADER = 16
BLOCK_SIZE = struct.Struct(">i")


class RecordError(ValueError):
    """Bytes that are no records: damaged, hostile, of a codec nobody knows, or too large once unpacked."""


def unpack(codec: int, data: memoryview) -> memoryview | bytes:
    """The records of a batch whose attributes name `codec` (0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd).

    Raises RecordError when the bytes are not of that codec or unpack to more than MOST_UNPACKED.
    """
    if codec == 0:
        return data
    try:
        return UNPACKERS[codec](data)
    except KeyError:
        raise RecordError(f"compression codec {codec} is not known") from None
    except (cramjam.DecompressionError, zlib.error, struct.error) as error:
        raise RecordError(f"{NAMES[codec]} data can't be unpacked: {error}") from None


def unpack_gzip(data: memoryview) -> bytes:
    """Gzip, which tells its size only at its end."""
    unpacker = zlib.decompressobj(wbits=31)
    out = unpacker.decompress(data, MOST_UNPACKED)
    if unpacker.unconsumed_tail:
        raise too_large()
    if not unpacker.eof:
        raise RecordError("gzip data ends too early")
    return out


def unpack_into(decompress_into: Callable[[memoryview, bytearray], int], data: memoryview) -> memoryview:
    """Unpack into ever larger buffers: neither lz4 nor zstd need say how much they hold, and may lie if they do."""
    size = min(max(FIRST_GUESS, 8 * len(data)), MOST_UNPACKED)
    while True:
        out = bytearray(size)
        try:
            return memoryview(out)[: decompress_into(data, out)]
        except cramjam.DecompressionError as error:
            if "whole buffer" not in str(error):
                raise
        if size == MOST_UNPACKED:
            raise too_large()
        size = min(8 * size, MOST_UNPACKED)


def unpack_snappy(data: memoryview) -> memoryview:
    """Snappy as Java clients frame it (xerial blocks) or as one raw block."""
    if data[: len(XERIAL_MAGIC)] != XERIAL_MAGIC:
        return unpack_snappy_block(data, MOST_UNPACKED)
    out, at = bytearray(), XERIAL_HEADER
    while at < len(data):
        (size,) = BLOCK_SIZE.unpack_from(data, at)
        at += BLOCK_SIZE.size
        if not 0 < size <= len(data) - at:
            raise RecordError("a snappy block is longer than its batch")
        out += unpack_snappy_block(data[at : at + size], MOST_UNPACKED - len(out))
        at += size
    return memoryview(out)


def unpack_snappy_block(block: memoryview, most: int) -> memoryview:
    """One raw block; its first bytes say how much it holds."""
    size = cramjam.snappy.decompress_raw_len(block)
    if size > most:
        raise too_large()
    out = bytearray(size)
    return memoryview(out)[: cramjam.snappy.decompress_raw_into(block, out)]


def too_large() -> RecordError:
    """The error of a batch that unpacks to more than anyone should hold for one age."""
    return RecordError(f"a batch unpacks to more than {MOST_UNPACKED >> 20} MiB")


NAMES = {1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}
UNPACKERS: dict[int, Callable[[memoryview], memoryview | bytes]] = {
    1: unpack_gzip,
    2: unpack_snappy,
    3: lambda data: unpack_into(cramjam.lz4.decompress_into, data),
    4: lambda data: unpack_into(cramjam.zstd.decompress_into, data),
}
