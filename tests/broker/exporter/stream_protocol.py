"""Just enough of RabbitMQ's stream protocol to subscribe under a name and to store an offset.

Source: deps/rabbitmq_stream/docs/PROTOCOL.adoc of RabbitMQ 3.10.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping
from types import TracebackType

from drills.lab.rabbitmq import RabbitMQ

SUBSCRIBE, STORE_OFFSET, QUERY_OFFSET = 0x07, 0x0A, 0x0B
PEER_PROPERTIES, SASL_HANDSHAKE, SASL_AUTHENTICATE, TUNE, OPEN = 0x11, 0x12, 0x13, 0x14, 0x15
ANSWER, OK = 0x8000, 1
FIRST_CHUNK = 1  # the offset specification "first"


def text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack(">h", len(raw)) + raw


def properties(given: Mapping[str, str]) -> bytes:
    return struct.pack(">i", len(given)) + b"".join(text(key) + text(value) for key, value in given.items())


class StreamClient:
    """One connection in one virtual host."""

    def __init__(self, rabbitmq: RabbitMQ, vhost: str) -> None:
        host, _, port = rabbitmq.streams[0].rpartition(":")
        plain, tls = socket.create_connection((host, int(port)), timeout=60), rabbitmq.tls
        self._socket = tls.wrap_socket(plain, server_hostname=host) if tls else plain
        self._correlation = 0
        self._ask(PEER_PROPERTIES, properties({"product": "test"}))
        self._ask(SASL_HANDSHAKE, b"")
        secret = f"\0{rabbitmq.user}\0{rabbitmq.password}".encode()
        self._ask(SASL_AUTHENTICATE, text("PLAIN") + struct.pack(">i", len(secret)) + secret)
        self._tune()
        self._ask(OPEN, text(vhost))

    def __enter__(self) -> StreamClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def subscribe(self, stream: str, name: str, credit: int) -> None:
        """Consume from the first chunk on, so many chunks."""
        number = struct.pack(">B", 1)
        where = struct.pack(">HH", FIRST_CHUNK, credit)
        self._ask(SUBSCRIBE, number + text(stream) + where + properties({"name": name}))

    def store(self, stream: str, name: str, offset: int) -> None:
        """Store an offset under a name; returns when the broker has it."""
        self._send(STORE_OFFSET, text(name) + text(stream) + struct.pack(">Q", offset))
        stored = None
        while stored != offset:  # it is stored asynchronously; the socket's deadline ends this
            answer = self._ask(QUERY_OFFSET, text(name) + text(stream), (OK, 19))  # 19: no offset yet
            stored = struct.unpack(">Q", answer[:8])[0]

    def _tune(self) -> None:
        key, body = self._read()
        while key != TUNE:
            key, body = self._read()
        frame, _ = struct.unpack(">II", body[:8])
        self._send(TUNE, struct.pack(">II", frame, 0))  # no heartbeats: tests end soon

    def _ask(self, key: int, body: bytes, allowed: tuple[int, ...] = (OK,)) -> bytes:
        self._correlation += 1
        self._send(key, struct.pack(">I", self._correlation) + body)
        while True:
            found, answer = self._read()
            if found == key | ANSWER:
                _, code = struct.unpack(">IH", answer[:6])
                assert code in allowed, f"the broker answers {code} to command {key:#x}"
                return answer[6:]

    def _send(self, key: int, body: bytes) -> None:
        self._socket.sendall(struct.pack(">IHH", len(body) + 4, key, 1) + body)

    def _read(self) -> tuple[int, bytes]:
        size = struct.unpack(">I", self._exactly(4))[0]
        frame = self._exactly(size)
        return struct.unpack(">H", frame[:2])[0], frame[4:]

    def _exactly(self, count: int) -> bytes:
        found = b""
        while len(found) < count:
            part = self._socket.recv(count - len(found))
            assert part, "the broker closed the connection"
            found += part
        return found
