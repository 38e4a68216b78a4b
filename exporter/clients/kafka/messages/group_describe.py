"""DescribeGroups (15), ConsumerGroupDescribe (69), ShareGroupDescribe (77), StreamsGroupDescribe (89): members.

Four requests because each protocol of groups has its own; one shape of answer. Source: *DescribeResponse.json.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from exporter.clients.kafka.connection import Request
from exporter.clients.kafka.wire import Cursor, MalformedError, compact, compact_array

CLASSIC, CONSUMER, SHARE, STREAMS = 15, 69, 77, 89
VERSIONS = {CLASSIC: (5, 6), CONSUMER: (0, 1), SHARE: (1, 1), STREAMS: (0, 0)}

Assigned = dict[str, set[int]]  # topic -> partitions


@dataclass(slots=True)
class DescribedGroup:
    """One group. `busy` counts the members that have something assigned."""

    error: int
    message: str | None
    group: str
    state: str
    members: int = 0
    busy: int = 0
    assigned: Assigned = field(default_factory=dict)


def request(api_key: int, version: int, groups: Iterable[str]) -> Request:
    """These groups, without authorized operations."""
    return Request(api_key, version, compact_array(map(compact, groups)) + b"\0" + b"\0")


def decode(api_key: int, data: bytes, version: int) -> list[DescribedGroup]:
    """The groups of one answer, in no order."""
    cursor = Cursor(data)
    cursor.int32()  # throttle time
    readers: Mapping[int, Callable[[Cursor, int], DescribedGroup]] = {
        CLASSIC: _classic_group,
        CONSUMER: _consumer_group,
        SHARE: _share_group,
        STREAMS: _streams_group,
    }
    read = readers[api_key]
    return cursor.array(lambda: read(cursor, version))


def _classic_group(cursor: Cursor, version: int) -> DescribedGroup:
    code = cursor.int16()
    message = cursor.nullable_text() if version >= 6 else None
    group, state, protocol_type = cursor.text(), cursor.text(), cursor.text()
    cursor.text()  # assignor
    described = DescribedGroup(code, message, group, state)
    for _ in range(cursor.count()):
        for _ in range(4):  # member, instance, client, host
            cursor.nullable_text()
        cursor.nullable_bytes()  # subscription
        assignment = cursor.nullable_bytes() or b""
        cursor.tags()
        _add(described, classic_assignment(assignment) if protocol_type == "consumer" else {"": {*assignment[:1]}})
    if protocol_type != "consumer":
        described.assigned.clear()  # Connect and schema registries assign things of their own
    cursor.int32()  # authorized operations
    cursor.tags()
    return described


def classic_assignment(data: bytes) -> Assigned:
    """Topic to partitions from the consumer protocol's own encoding; empty for a member without an assignment.

    An assignment of an assignor that encodes something else is taken as none. Source: ConsumerProtocolAssignment.json.
    """
    cursor = Cursor(data, flexible=False, at=2)  # the version goes first
    try:
        return _topic_sets(cursor.array(lambda: (cursor.text(), cursor.int32s()))) if data else {}
    except MalformedError:
        return {}


def _topic_sets(pairs: Iterable[tuple[str, Iterable[int]]]) -> Assigned:
    assigned: Assigned = {}
    for topic, partitions in pairs:
        assigned.setdefault(topic, set()).update(partitions)
    return {topic: partitions for topic, partitions in assigned.items() if partitions}


def _add(described: DescribedGroup, assigned: Assigned) -> None:
    described.members += 1
    if any(assigned.values()):
        described.busy += 1
    for topic, partitions in assigned.items():
        described.assigned.setdefault(topic, set()).update(partitions)


def _head(cursor: Cursor) -> DescribedGroup:
    described = DescribedGroup(cursor.int16(), cursor.nullable_text(), cursor.text(), cursor.text())
    cursor.int32()  # group epoch
    cursor.int32()  # assignment epoch
    return described


def _assignment(cursor: Cursor) -> Assigned:
    def topic() -> tuple[str, tuple[int, ...]]:
        cursor.uuid()
        pair = cursor.text(), cursor.int32s()
        cursor.tags()
        return pair

    assigned = _topic_sets(cursor.array(topic))
    cursor.tags()
    return assigned


def _consumer_group(cursor: Cursor, version: int) -> DescribedGroup:
    described = _head(cursor)
    cursor.text()  # assignor
    for _ in range(cursor.count()):
        cursor.text()  # member
        cursor.nullable_text()  # instance
        cursor.nullable_text()  # rack
        cursor.int32()  # epoch
        cursor.text()  # client
        cursor.text()  # host
        cursor.array(cursor.text)  # subscribed topics
        cursor.nullable_text()  # subscribed pattern
        _add(described, _assignment(cursor))
        _assignment(cursor)  # target
        if version >= 1:
            cursor.int8()  # classic or consumer member
        cursor.tags()
    cursor.int32()
    cursor.tags()
    return described


def _share_group(cursor: Cursor, version: int) -> DescribedGroup:  # noqa: ARG001 - one shape for all four
    described = _head(cursor)
    cursor.text()  # assignor
    for _ in range(cursor.count()):
        cursor.text()  # member
        cursor.nullable_text()  # rack
        cursor.int32()  # epoch
        cursor.text()  # client
        cursor.text()  # host
        cursor.array(cursor.text)  # subscribed topics
        _add(described, _assignment(cursor))
        cursor.tags()
    cursor.int32()
    cursor.tags()
    return described


def _streams_group(cursor: Cursor, version: int) -> DescribedGroup:  # noqa: ARG001 - one shape for all four
    described = _head(cursor)
    sources = _topology(cursor) if cursor.int8() >= 0 else {}
    for _ in range(cursor.count()):
        _add(described, _streams_member(cursor, sources))
    cursor.int32()
    cursor.tags()
    return described


def _topology(cursor: Cursor) -> dict[str, list[str]]:
    """Subtopology to the topics that it reads."""
    cursor.int32()  # epoch
    sources = {}
    for _ in range(cursor.count()):
        subtopology, topics = cursor.text(), cursor.array(cursor.text)
        cursor.array(cursor.text)  # repartition sinks
        _topic_infos(cursor)  # changelogs
        sources[subtopology] = topics + _topic_infos(cursor)
        cursor.tags()
    cursor.tags()
    return sources


def _topic_infos(cursor: Cursor) -> list[str]:
    def info() -> str:
        name = cursor.text()
        cursor.int32()  # partitions
        cursor.int16()  # replicas
        _pairs(cursor)  # settings
        cursor.tags()
        return name

    return cursor.array(info)


def _pairs(cursor: Cursor) -> None:
    for _ in range(cursor.count()):
        cursor.text()
        cursor.text()
        cursor.tags()


def _streams_member(cursor: Cursor, sources: Mapping[str, list[str]]) -> Assigned:
    cursor.text()  # member
    cursor.int32()  # epoch
    cursor.nullable_text()  # instance
    cursor.nullable_text()  # rack
    cursor.text()  # client
    cursor.text()  # host
    cursor.int32()  # topology epoch
    cursor.text()  # process
    if cursor.int8() >= 0:  # endpoint: host, port
        cursor.text()
        cursor.int16()
        cursor.tags()
    _pairs(cursor)  # client tags
    for _ in range(2):  # task offsets, task end offsets
        for _ in range(cursor.count()):
            cursor.text()
            cursor.int32()
            cursor.int64()
            cursor.tags()
    active = _tasks(cursor)
    _tasks(cursor)  # target
    cursor.boolean()  # classic
    cursor.tags()
    return _topic_sets((topic, parts) for task, parts in active for topic in sources.get(task, [f"subtopology {task}"]))


def _tasks(cursor: Cursor) -> list[tuple[str, tuple[int, ...]]]:
    """The active tasks of an assignment: subtopology and partitions."""

    def task() -> tuple[str, tuple[int, ...]]:
        pair = cursor.text(), cursor.int32s()
        cursor.tags()
        return pair

    active, _, _ = cursor.array(task), cursor.array(task), cursor.array(task)
    cursor.tags()
    return active
