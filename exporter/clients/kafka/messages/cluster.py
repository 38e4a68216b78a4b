"""DescribeCluster (key 60): the brokers, from version 2 (Kafka 4.0) fenced ones too, and what we may do."""

from __future__ import annotations

from dataclasses import dataclass

from exporter.clients.kafka.address import Address
from exporter.clients.kafka.connection import Request
from exporter.clients.kafka.wire import Cursor

API_KEY = 60
LOWEST, HIGHEST = 0, 2
ALTER, DESCRIBE = 7, 8  # of AclOperation: bits 7 and 8 of the authorized operations
NOT_SAID = -(2**31)
ALL_BROKERS = 1  # endpoint type


@dataclass(frozen=True, slots=True)
class ClusterAnswer:
    """Brokers by id, those that are fenced, and what we may do.

    `may_describe` is None where the broker does not say; `restricted`: we are not allowed everything.
    """

    error: int
    message: str | None
    cluster_id: str
    brokers: dict[int, Address]
    fenced: frozenset[int]
    may_describe: bool | None
    restricted: bool


def request(version: int) -> Request:
    """Brokers, fenced or not, and our authorized operations."""
    endpoint = b"\1" if version >= 1 else b""
    fenced = b"\1" if version >= 2 else b""
    return Request(API_KEY, version, b"\1" + endpoint + fenced + b"\0")


def decode(data: bytes, version: int) -> ClusterAnswer:
    """One answer."""
    cursor = Cursor(data)
    cursor.int32()  # throttle time
    code, message = cursor.int16(), cursor.nullable_text()
    if version >= 1:
        cursor.int8()  # endpoint type
    cluster_id = cursor.text()
    cursor.int32()  # controller: in KRaft a random broker
    brokers, fenced = {}, set()
    for _ in range(cursor.count()):
        node = cursor.int32()
        brokers[node] = Address(cursor.text(), cursor.int32())
        cursor.nullable_text()  # rack
        if version >= 2 and cursor.boolean():
            fenced.add(node)
        cursor.tags()
    operations = cursor.int32()
    may_describe = None if operations == NOT_SAID else bool(operations >> DESCRIBE & 1)
    restricted = operations != NOT_SAID and not operations >> ALTER & 1
    return ClusterAnswer(code, message, cluster_id, brokers, frozenset(fenced), may_describe, restricted)
