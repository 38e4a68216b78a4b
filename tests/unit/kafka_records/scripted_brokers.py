"""Brokers of any version, in memory: for what a lab can't show (old protocols, missing rights, quotas, rare errors).

They answer Fetch and ListOffsets from logs of batches, by the brokers' rules for sizes and isolation, as bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from exporter.clients.kafka.connection import Request
from exporter.clients.kafka.failures import Failure
from exporter.clients.kafka.wire import Cursor, compact, plain, varint
from exporter.model.common import Kind
from exporter.model.record_time import Wanted

TOPIC_ID = b"0123456789abcdef"
FETCH, LIST_OFFSETS = 1, 2


@dataclass
class Log:
    """One partition: batches as (first offset, last offset, bytes), and (offset, stamp in ms) for ListOffsets."""

    batches: list[tuple[int, int, bytes]]
    last_stable: int | None = None
    aborted: list[tuple[int, int]] = field(default_factory=list)
    error: int = 0
    stamps: list[tuple[int, int]] = field(default_factory=list)

    @property
    def end(self) -> int:
        return self.batches[-1][1] + 1 if self.batches else 0

    @property
    def stable(self) -> int:
        return self.end if self.last_stable is None else self.last_stable


@dataclass
class ScriptedBrokers:
    """Answers for topic `orders`; leader of every partition is broker 1 unless `leaders` says otherwise."""

    logs: dict[int, Log]
    fetch_versions: tuple[int, int] = (4, 17)
    leaders: Mapping[int, int] = field(default_factory=dict)
    down: dict[int, Failure] = field(default_factory=dict)
    leave_out: frozenset[int] = frozenset()
    asked: list[tuple[int, int, list[tuple[int, int, int]]]] = field(default_factory=list)  # version, isolation, rows
    probes: list[list[tuple[int, int]]] = field(default_factory=list)

    def wanted(self, *positions: tuple[int, int], log_start: int = 0, **changes: object) -> list[Wanted]:
        """Positions (partition, offset) as a poll would ask for them."""
        return [
            Wanted(
                "orders", TOPIC_ID, p, offset, log_start, self.logs[p].end, self.logs[p].stable, self.leaders.get(p, 1)
            )._replace(**changes)
            for p, offset in positions
        ]

    def version(self, broker: int, api_key: int, lowest: int, highest: int) -> int | None:
        if broker in self.down:
            return None
        first, last = self.fetch_versions if api_key == FETCH else (1, 8 if self.fetch_versions[1] > 11 else 5)
        best = min(last, highest)
        return best if best >= max(first, lowest) else None

    def failure(self, broker: int) -> Failure | None:
        return self.down.get(broker)

    def unsupported(self, broker: int, what: str) -> Failure:
        return Failure(Kind.UNSUPPORTED, f"broker {broker} does not know {what}")

    def ask(self, requests: Mapping[int, Sequence[Request]]) -> dict[int, list[bytes] | Failure]:
        return {
            broker: self.down[broker] if broker in self.down else [self.answer(request) for request in asked]
            for broker, asked in requests.items()
        }

    def answer(self, request: Request) -> bytes:
        return self.fetch(request) if request.api_key == FETCH else self.list_offsets(request)

    def fetch(self, request: Request) -> bytes:
        version, flexible = request.version, request.version > 11
        cursor = Cursor(request.body, flexible)
        assert (-1, 0, 0) == (cursor.int32(), cursor.int32(), cursor.int32())
        cursor.int32()  # max bytes
        isolation = cursor.int8()
        assert (0, -1) == (cursor.int32(), cursor.int32())  # no session
        assert cursor.count() == 1
        topic = cursor.uuid() if version > 12 else cursor.text().encode()
        assert topic == (TOPIC_ID if version > 12 else b"orders")
        rows = []
        for _ in range(cursor.count()):
            partition, _, offset = cursor.int32(), cursor.int32(), cursor.int64()
            if version > 11:
                cursor.int32()
            cursor.int64()
            rows.append((partition, offset, cursor.int32()))
            cursor.tags()
        cursor.tags()
        assert (0, "") == (cursor.count(), cursor.text())
        cursor.tags()
        assert cursor.at == len(request.body)
        assert len({row[0] for row in rows}) == len(rows), "a partition stands twice in one request"
        self.asked.append((version, isolation, rows))
        return self.fetched(version, isolation, rows)

    def fetched(self, version: int, isolation: int, rows: list[tuple[int, int, int]]) -> bytes:
        flexible, tags = version > 11, b"\0" if version > 11 else b""
        parts, any_data = [], False
        for partition, offset, most in rows:
            if partition in self.leave_out:
                continue
            log = self.logs[partition]
            end = log.stable if isolation else log.end
            data = b"".join(raw for _, last, raw in log.batches if offset <= last < end)
            first = next((len(raw) for _, last, raw in log.batches if offset <= last < end), 0)
            data = b"" if log.error or (most < first and any_data) else data[: max(most, first if not any_data else 0)]
            any_data = any_data or bool(data)
            offsets = (-1, -1, -1) if log.error else (log.end, log.stable, 0)
            aborted = b"".join(struct.pack(">qq", *pair) + tags for pair in log.aborted)
            parts.append(
                struct.pack(">ihqqq", partition, log.error, *offsets)
                + size(len(log.aborted), flexible)
                + aborted
                + struct.pack(">i", -1)
                + size(len(data), flexible)
                + data
                + tags
            )
        name = TOPIC_ID if version > 12 else compact("orders") if flexible else plain("orders")
        topics = size(1, flexible) + name + size(len(parts), flexible) + b"".join(parts) + tags
        return struct.pack(">ihi", 0, 0, 0) + topics + tags

    def list_offsets(self, request: Request) -> bytes:
        flexible = request.version > 5
        cursor = Cursor(request.body, flexible)
        assert (-1, 0, 1, "orders") == (cursor.int32(), cursor.int8(), cursor.count(), cursor.text())
        tags, parts, rows = b"\0" if flexible else b"", [], []
        for _ in range(cursor.count()):
            partition, _, moment = cursor.int32(), cursor.int32(), cursor.int64()
            cursor.tags()
            rows.append((partition, moment))
            stamps = self.logs[partition].stamps
            offset, stamp = next(((offset, stamp) for offset, stamp in stamps if stamp >= moment), (-1, -1))
            parts.append(struct.pack(">ihqqi", partition, 0, stamp, offset, 0) + tags)
        assert len({row[0] for row in rows}) == len(rows), "a partition stands twice in one request"
        self.probes.append(rows)
        name = compact("orders") if flexible else plain("orders")
        return struct.pack(">i", 0) + size(1, flexible) + name + size(len(parts), flexible) + b"".join(parts) + 2 * tags


def size(count: int, flexible: bool) -> bytes:
    return varint(count + 1) if flexible else struct.pack(">i", count)
