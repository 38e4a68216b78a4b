"""Fetch requests and answers: many partitions at once, without session, group or rack, and without waiting.

Versions 11 (Kafka 2.3) and 12 name topics; 13 (Kafka 3.1) has topic ids, so that a topic which was deleted and made
again can't answer for its predecessor. From version 3 on a first batch that does not fit into `max_bytes` is replaced
by nothing, except in the first partition of a request that has any data: there at least one whole batch comes.
Source: apache/kafka, FetchRequest.json and FetchResponse.json.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from exporter.clients.kafka.connection import Request
from exporter.clients.kafka.wire import INT32, NO_TOPIC_ID, MalformedError, compact, plain, read_varint, varint

FETCH = 1
NAMED = (11, 12)  # versions that name topics
IDENTIFIED = 13  # the version used where the topic id is known
READ_UNCOMMITTED, READ_COMMITTED = 0, 1
MOST_BYTES = 64 * 1024 * 1024  # of one answer; a batch that is larger comes all the same
NO_EPOCH = -1

OPENING = struct.Struct(">iiiibii")  # replica, max wait, min bytes, max bytes, isolation, session, session epoch
ASKED_11 = struct.Struct(">iiqqi")  # partition, leader epoch, offset, log start, max bytes
ASKED_12 = struct.Struct(">iiqiqib")  # the same with the last fetched epoch before log start; tags
ANSWERED = struct.Struct(">ihqqq")  # partition, error, high watermark, last stable offset, log start
ABORTED = struct.Struct(">qq")  # producer id, first offset
FRONT = struct.Struct(">ihi")  # throttle time in ms, error, session


class Ask(NamedTuple):
    """One partition to read from `offset`."""

    topic: str
    topic_id: bytes
    partition: int
    offset: int
    max_bytes: int


class Read(NamedTuple):
    """What came back for one partition. Offsets are -1 where there is an error."""

    error: int
    high_watermark: int
    last_stable: int
    aborted: Sequence[tuple[int, int]]  # producer id, first offset of the aborted transaction
    records: bytes


Answered = dict[tuple[str | bytes, int], Read]  # (topic, or its id from version 13 on; partition)


def encode(version: int, isolation: int, asks: Sequence[Ask]) -> Request:
    """A request for partitions, none of them twice: the broker would see only one of the two.

    The partitions of a topic must stand together; brokers look at them in this order.
    """
    flexible = version > 11
    topics = [list(asks_of) for _, asks_of in groupby(asks, key=lambda ask: (ask.topic, ask.topic_id))]
    body = [OPENING.pack(-1, 0, 0, MOST_BYTES, isolation, 0, -1), length(len(topics), flexible)]
    for asked in topics:
        body.append(topic_key(version, asked[0]))
        body.append(length(len(asked), flexible))
        if flexible:
            body += [ASKED_12.pack(p, NO_EPOCH, offset, NO_EPOCH, -1, most, 0) for _, _, p, offset, most in asked]
            body.append(b"\0")
        else:
            body += [ASKED_11.pack(p, NO_EPOCH, offset, -1, most) for _, _, p, offset, most in asked]
    # no forgotten topics, no rack, no tagged fields
    body.append(b"\x01\x01\x00" if flexible else b"\0\0\0\0\0\0")
    return Request(FETCH, version, b"".join(body), flexible)


def topic_key(version: int, ask: Ask) -> bytes:
    """How this version names the topic."""
    if version >= IDENTIFIED:
        return ask.topic_id
    return compact(ask.topic) if version > 11 else plain(ask.topic)


def length(count: int, flexible: bool) -> bytes:
    """The length of an array."""
    return varint(count + 1) if flexible else INT32.pack(count)


def decode(version: int, data: bytes) -> tuple[int, Answered]:
    """(error of the whole answer, what came for each partition). Raises MalformedError."""
    try:
        return _Decoder(version, data).answer()
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise MalformedError(f"the answer to a Fetch is not one: {error}") from None


class _Decoder:
    """Walks one answer. Reads its own numbers: an answer has thousands of partitions."""

    def __init__(self, version: int, data: bytes) -> None:
        self.version = version
        self.flexible = version > 11
        self.data = data
        self.at = 0

    def answer(self) -> tuple[int, Answered]:
        _, error, _ = FRONT.unpack_from(self.data, 0)
        self.at = FRONT.size
        answered: Answered = {}
        for _ in range(self.count()):
            topic = self.topic()
            for _ in range(self.count()):
                partition, read = self.partition()
                answered[topic, partition] = read
            self.skip_tags()
        return error, answered

    def topic(self) -> str | bytes:
        if self.version >= IDENTIFIED:
            return self.take(len(NO_TOPIC_ID))
        if self.flexible:
            return self.take(self.count()).decode("utf-8", "surrogateescape")
        size = self.data[self.at] << 8 | self.data[self.at + 1]
        self.at += 2
        return self.take(size).decode("utf-8", "surrogateescape")

    def partition(self) -> tuple[int, Read]:
        partition, error, high, stable, _ = ANSWERED.unpack_from(self.data, self.at)
        self.at += ANSWERED.size
        aborted = [self.aborted() for _ in range(self.count())]
        self.at += 4  # preferred read replica: only for those that tell their rack
        records = self.take(self.count())
        self.skip_tags()
        return partition, Read(error, high, stable, aborted, records)

    def aborted(self) -> tuple[int, int]:
        producer, first = ABORTED.unpack_from(self.data, self.at)
        self.at += ABORTED.size
        self.skip_tags()
        return producer, first

    def take(self, size: int) -> bytes:
        taken = self.data[self.at : self.at + size]
        if len(taken) != size:
            raise MalformedError("the answer to a Fetch ends too early")
        self.at += size
        return taken

    def count(self) -> int:
        """An array's or a string's length; null is 0."""
        if not self.flexible:
            size = int(INT32.unpack_from(self.data, self.at)[0])
            self.at += 4
        else:
            size, self.at = read_varint(self.data, self.at)
            size -= 1
        if size > len(self.data) - self.at:
            raise MalformedError(f"the answer to a Fetch can't hold {size} items")
        return max(size, 0)

    def skip_tags(self) -> None:
        if not self.flexible:
            return
        if not self.data[self.at]:
            self.at += 1
            return
        tags, self.at = read_varint(self.data, self.at)
        for _ in range(tags):
            _, self.at = read_varint(self.data, self.at)
            size, self.at = read_varint(self.data, self.at)
            self.at += size
