"""Kafka's primitive types, read and written. Flexible versions (KIP-482) use compact lengths and tagged fields.

Text is decoded with `surrogateescape`, so that a name which is not UTF-8 can be sent back byte for byte; `printable`
makes it fit for a page. Source: https://kafka.apache.org/protocol#protocol_types
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from typing import TypeVar

Item = TypeVar("Item")

INT8 = struct.Struct(">b")
INT16 = struct.Struct(">h")
INT32 = struct.Struct(">i")
INT64 = struct.Struct(">q")
NO_TOPIC_ID = bytes(16)
LAST_SHIFT = 28  # lengths have 32 bits; without an end, a megabyte of them would take minutes to add up


class MalformedError(ValueError):
    """An answer that ends too early or has lengths that cannot be."""


def varint(number: int) -> bytes:
    """An unsigned varint of seven bits a byte."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """The unsigned varint at `at`, and where it ends. Raises IndexError at the end of the data, and MalformedError."""
    byte = data[at]
    if byte < 0x80:
        return byte, at + 1
    value, shift = byte & 0x7F, 7
    while shift <= LAST_SHIFT:
        at += 1
        byte = data[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at + 1
        shift += 7
    raise MalformedError("a number of more than five bytes")


def encoded(text: str) -> bytes:
    """The bytes that `Cursor.text` made this of."""
    return text.encode("utf-8", "surrogateescape")


def printable(text: str) -> str:
    """The text with bytes that are not UTF-8 replaced by U+FFFD."""
    if text.isascii():
        return text
    return encoded(text).decode("utf-8", "replace")


def compact(text: str | None) -> bytes:
    """A compact (nullable) string."""
    if text is None:
        return b"\0"
    raw = encoded(text)
    return varint(len(raw) + 1) + raw


def plain(text: str | None) -> bytes:
    """A (nullable) string of the older, not flexible versions."""
    if text is None:
        return INT16.pack(-1)
    raw = encoded(text)
    return INT16.pack(len(raw)) + raw


def compact_array(items: Iterable[bytes]) -> bytes:
    """A compact array of items that are already encoded."""
    listed = list(items)
    return varint(len(listed) + 1) + b"".join(listed)


def plain_array(items: Iterable[bytes]) -> bytes:
    """An array of the older, not flexible versions."""
    listed = list(items)
    return INT32.pack(len(listed)) + b"".join(listed)


class Cursor:
    """Reads one answer from front to back. Every method raises MalformedError where the data ends."""

    __slots__ = ("at", "data", "flexible")

    def __init__(self, data: bytes, flexible: bool = True, at: int = 0) -> None:
        self.data = data
        self.at = at
        self.flexible = flexible

    def _number(self, form: struct.Struct) -> int:
        try:
            value: int = form.unpack_from(self.data, self.at)[0]
        except struct.error:
            raise MalformedError("the answer ends in the middle of a number") from None
        self.at += form.size
        return value

    def int8(self) -> int:
        """A signed byte."""
        return self._number(INT8)

    def int16(self) -> int:
        """A signed number of two bytes."""
        return self._number(INT16)

    def int32(self) -> int:
        """A signed number of four bytes."""
        return self._number(INT32)

    def int64(self) -> int:
        """A signed number of eight bytes."""
        return self._number(INT64)

    def boolean(self) -> bool:
        """One byte, 0 or not."""
        return self._number(INT8) != 0

    def raw(self, count: int) -> bytes:
        """The next `count` bytes."""
        end = self.at + count
        if count < 0 or end > len(self.data):
            raise MalformedError("the answer ends in the middle of a string")
        value = self.data[self.at : end]
        self.at = end
        return value

    def uuid(self) -> bytes:
        """Sixteen bytes."""
        return self.raw(16)

    def varint(self) -> int:
        """An unsigned varint."""
        try:
            value, self.at = read_varint(self.data, self.at)
        except IndexError:
            raise MalformedError("the answer ends in the middle of a number") from None
        return value

    def nullable_bytes(self) -> bytes | None:
        """Bytes with their length in front, None for null."""
        length = self.varint() - 1 if self.flexible else self.int32()
        return None if length < 0 else self.raw(length)

    def nullable_text(self) -> str | None:
        """A string, None for null."""
        length = self.varint() - 1 if self.flexible else self.int16()
        return None if length < 0 else self.raw(length).decode("utf-8", "surrogateescape")

    def text(self) -> str:
        """A string; null is empty."""
        return self.nullable_text() or ""

    def count(self) -> int:
        """The length of an array; null is 0."""
        length = self.varint() - 1 if self.flexible else self.int32()
        if length > len(self.data) - self.at:
            raise MalformedError(f"an array of {length} items cannot fit in the answer")
        return max(length, 0)

    def array(self, read: Callable[[], Item]) -> list[Item]:
        """An array whose items `read` reads."""
        return [read() for _ in range(self.count())]

    def int32s(self) -> tuple[int, ...]:
        """An array of numbers of four bytes."""
        count = self.count()
        raw = self.raw(4 * count)
        return struct.unpack(f">{count}i", raw)

    def tags(self) -> dict[int, bytes]:
        """Tagged fields by number; none in versions that are not flexible."""
        if not self.flexible:
            return {}
        return {self.varint(): self.raw(self.varint()) for _ in range(self.varint())}
