"""Ways to damage the bytes of an answer, all decided by one seeded generator."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from random import Random

EXTREMES = tuple(
    struct.pack(form, value)
    for form, values in {
        ">b": (-1, 0, 127, -128),
        ">h": (-1, 0, 32767, -32768),
        ">i": (-1, 0, 2**31 - 1, -(2**31), 10**6),
        ">q": (-1, 0, 2**63 - 1, -(2**63), -2, 10**15),
        ">d": (float("nan"), float("inf")),
    }.items()
    for value in values
)
VARINTS = (b"\xff\xff\xff\xff\x0f", b"\xff\xff\xff\xff\x07", b"\x80" * 9 + b"\x01", b"\xff" * 12, b"\x80" * 300)
STRANGE = (b"\xff\xfe", b"\0\0", b'"\n', b"\\\\", b"\xc3(", b"\xed\xa0\x80", b"}{", b"\xe2\x80\xa8")
Damage = Callable[[Random, bytes], bytes]


def truncated(random: Random, data: bytes) -> bytes:
    return data[: random.randrange(len(data) + 1)]


def bits_flipped(random: Random, data: bytes) -> bytes:
    out = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 8))):
        if out:
            out[random.randrange(len(out))] ^= 1 << random.randrange(8)
    return bytes(out)


def _put(random: Random, data: bytes, values: Sequence[bytes], over: bool) -> bytes:
    value, at = random.choice(values), random.randrange(len(data) + 1)
    return data[:at] + value + data[at + (len(value) if over else 0) :]


def number_replaced(random: Random, data: bytes) -> bytes:
    return _put(random, data, EXTREMES, over=True)


def number_inserted(random: Random, data: bytes) -> bytes:
    return _put(random, data, EXTREMES, over=False)


def length_replaced(random: Random, data: bytes) -> bytes:
    return _put(random, data, VARINTS, over=random.random() < 0.7)


def text_replaced(random: Random, data: bytes) -> bytes:
    """Bytes that are not UTF-8, or that pages and logs have to escape, in the middle of a name."""
    letters = [at for at, byte in enumerate(data[:-1]) if 97 <= byte <= 122 and 97 <= data[at + 1] <= 122]
    if not letters:
        return bits_flipped(random, data)
    at = random.choice(letters)
    return data[:at] + random.choice(STRANGE)[:2].ljust(2, b"\xff") + data[at + 2 :]


def part_removed(random: Random, data: bytes) -> bytes:
    start, end = sorted(random.randrange(len(data) + 1) for _ in range(2))
    return data[:start] + data[end:]


def part_doubled(random: Random, data: bytes) -> bytes:
    start, end = sorted(random.randrange(len(data) + 1) for _ in range(2))
    return data[:end] + data[start:end] + data[end:]


def random_bytes(random: Random, data: bytes) -> bytes:
    return random.randbytes(random.choice((0, 1, 3, 40, len(data), 3000)))


def several(random: Random, data: bytes) -> bytes:
    for _ in range(random.randrange(2, 5)):
        data = random.choice(SIMPLE)(random, data)
    return data


SIMPLE: tuple[Damage, ...] = (
    truncated, bits_flipped, number_replaced, number_inserted, length_replaced, text_replaced, part_removed,
    part_doubled, random_bytes,
)  # fmt: skip
ALL: tuple[Damage, ...] = (*SIMPLE, several, number_replaced, bits_flipped)
