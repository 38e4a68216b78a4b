"""Asks brokers which record is the first stamped at or after a moment, to sharpen estimates that polls can't give yet.

ListOffsets by timestamp needs only Describe on the topic. Versions 5 (Kafka 2.1) to 7; source: apache/kafka,
ListOffsetsRequest.json and ListOffsetsResponse.json.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Sequence

from exporter.clients.kafka.brokers import Brokers, Failure, Request
from exporter.clients.kafka.wire import INT32, Cursor, MalformedError, compact, plain, varint
from exporter.model.estimate import History, good, moment_to_ask
from exporter.model.record_time import Wanted

LIST_OFFSETS = 2
VERSIONS = (5, 7)
FLEXIBLE_FROM = 6
MOST_ROUNDS = 40
MOST_AT_ONCE = 4  # positions of one partition in a round
MOST_ROWS = 2000  # in one request: each is a search in the broker's log
ASKED = struct.Struct(">iiq")  # partition, leader epoch, moment in ms

Moments = dict[tuple[str, int], tuple[int, Wanted]]  # topic, partition -> moment in ms, for whom


def sharpen(history: History, wanted: Sequence[Wanted], brokers: Brokers, now: float, deadline: float) -> None:
    """Ask about positions whose estimate is not good enough, until it is, asking won't help, or the deadline passed.

    Answers go into the history, where they serve every position of the partition. A broker that fails is left out:
    it stands in the problems of those that read from it in the same poll.
    """
    left, told = list(wanted), 1
    for _ in range(MOST_ROUNDS):
        if not left or not told or time.monotonic() >= deadline:
            return
        asked, left = choose(history, left, now)
        versions = {leader: brokers.version(leader, LIST_OFFSETS, *VERSIONS) for leader in asked}
        answers = brokers.ask(
            {at: [encode(version, layer) for layer in asked[at]] for at, version in versions.items() if version}
        )
        heard = {leader: answer for leader, answer in answers.items() if not isinstance(answer, Failure)}
        told = 0
        for leader, answer in heard.items():
            for moments, data in zip(asked[leader], answer, strict=True):
                told += take(history, moments, versions[leader] or 0, data)
        left = [position for position in left if position.leader in heard]


def choose(history: History, wanted: Sequence[Wanted], now: float) -> tuple[dict[int, list[Moments]], list[Wanted]]:
    """(leader -> layers of moments to ask for, a partition once in each; the positions that may need another round)."""
    asked: dict[int, list[Moments]] = {}
    left = []
    for position in wanted:
        bracket = history.bracket(position.topic, position.topic_id, position.partition, position.offset)
        moment = moment_to_ask(bracket, now, history.interval)
        if moment is None or good(bracket, now, history.interval):
            continue
        left.append(position)
        add(asked.setdefault(position.leader, []), (position.topic, position.partition), int(moment * 1000), position)
    return asked, left


def add(layers: list[Moments], key: tuple[str, int], moment: int, position: Wanted) -> None:
    """Put a moment into the first layer where its partition has none yet, if it isn't asked for and there is room."""
    for layer in layers:
        if key not in layer:
            if len(layer) < MOST_ROWS:
                layer[key] = (moment, position)
            return
        if layer[key][0] == moment:
            return
    if len(layers) < MOST_AT_ONCE:
        layers.append({key: (moment, position)})


def encode(version: int, moments: Moments) -> Request:
    """A request for one moment of each partition, read uncommitted."""
    flexible = version >= FLEXIBLE_FROM
    topics: dict[str, list[bytes]] = {}
    for (topic, partition), (moment, _) in moments.items():
        row = ASKED.pack(partition, -1, moment) + (b"\0" if flexible else b"")
        topics.setdefault(topic, []).append(row)
    body = [struct.pack(">ib", -1, 0), varint(len(topics) + 1) if flexible else INT32.pack(len(topics))]
    for topic, rows in topics.items():
        body.append(compact(topic) + varint(len(rows) + 1) if flexible else plain(topic) + INT32.pack(len(rows)))
        body += rows
        body.append(b"\0" if flexible else b"")
    body.append(b"\0" if flexible else b"")
    return Request(LIST_OFFSETS, version, b"".join(body), flexible)


def take(history: History, moments: Moments, version: int, data: bytes) -> int:
    """Put the answers into the history; how many there were. What is malformed or an error tells nothing."""
    try:
        rows = decode(version, data)
    except MalformedError:
        return 0
    for (topic, partition), (stamp, offset) in rows.items():
        if (topic, partition) not in moments:
            continue
        moment, position = moments[topic, partition]
        if offset < 0:  # everything that was there when the poll read the end is older
            offset, stamp = position.high_watermark, moment
        history.probed(topic, position.topic_id, partition, moment / 1000, offset, stamp / 1000)
    return len(rows)


def decode(version: int, data: bytes) -> dict[tuple[str, int], tuple[int, int]]:
    """(topic, partition) -> (timestamp in ms, offset) of those without an error. Raises MalformedError."""
    cursor = Cursor(data, version >= FLEXIBLE_FROM)
    rows = {}
    cursor.int32()  # throttle time
    for _ in range(cursor.count()):
        topic = cursor.text()
        for _ in range(cursor.count()):
            partition, error, stamp, offset = cursor.int32(), cursor.int16(), cursor.int64(), cursor.int64()
            cursor.int32()  # leader epoch
            cursor.tags()
            if not error:
                rows[topic, partition] = (stamp, offset)
        cursor.tags()
    return rows
