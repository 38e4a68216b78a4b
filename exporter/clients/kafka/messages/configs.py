"""DescribeConfigs (key 32): chosen settings of topics and groups, per-item errors kept. Versions 1 to 4."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from exporter.clients.kafka.connection import Request
from exporter.clients.kafka.wire import INT8, Cursor, compact, compact_array

API_KEY = 32
VERSION = 4
TOPIC, GROUP = 2, 32  # resource types


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one topic or group; those that the broker does not know are left out."""

    name: str
    error: int
    message: str | None
    values: dict[str, str | None]


def request(resource_type: int, names: Iterable[str], keys: Sequence[str]) -> Request:
    """These settings of these topics or groups."""
    wanted = compact_array(map(compact, keys))
    resources = (INT8.pack(resource_type) + compact(name) + wanted + b"\0" for name in names)
    return Request(API_KEY, VERSION, compact_array(resources) + b"\0" + b"\0" + b"\0")


def decode(data: bytes) -> list[Settings]:
    """One entry for each topic or group asked for."""
    cursor = Cursor(data)
    cursor.int32()  # throttle time
    return cursor.array(lambda: _result(cursor))


def _result(cursor: Cursor) -> Settings:
    code, message = cursor.int16(), cursor.nullable_text()
    cursor.int8()
    name = cursor.text()
    values = dict(cursor.array(lambda: _setting(cursor)))
    cursor.tags()
    return Settings(name, code, message, values)


def _setting(cursor: Cursor) -> tuple[str, str | None]:
    pair = cursor.text(), cursor.nullable_text()
    cursor.boolean()  # read only
    cursor.int8()  # source
    cursor.boolean()  # sensitive
    for _ in range(cursor.count()):  # synonyms
        cursor.text()
        cursor.nullable_text()
        cursor.int8()
        cursor.tags()
    cursor.int8()  # type
    cursor.nullable_text()  # documentation
    cursor.tags()
    return pair
