"""Just enough of RabbitMQ's stream protocol to store an offset and to consume under a name.

Frames and keys: deps/rabbitmq_stream/docs/PROTOCOL.adoc.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping
from itertools import count

from drills.lab.rabbitmq import RabbitMQ

SUBSCRIBE, STORE_OFFSET, QUERY_OFFSET = 0x0007, 0x000A, 0x000B
PEER_PROPERTIES, SASL_HANDSHAKE, SASL_AUTHENTICATE, TUNE, OPEN = 0x0011, 0x0012, 0x0013, 0x0014, 0x0015
RESPONSE, OK, NO_OFFSET = 0x8000, 1, 19
NEXT, ABSOLUTE = 3, 4  # kinds of a place to begin at


def text(value: str) -> bytes:
    return struct.pack(">h", len(value.encode())) + value.encode()


def pairs(values: Mapping[str, str]) -> bytes:
    return struct.pack(">i", len(values)) + b"".join(text(key) + text(value) for key, value in values.items())


class StreamClient:
    """One connection to rabbitmq-1. Use as a context manager."""

    def __init__(self, rabbitmq: RabbitMQ, vhost: str) -> None:
        host, _, port = rabbitmq.streams[0].rpartition(":")
        plain, tls = socket.create_connection((host, int(port)), timeout=60), rabbitmq.tls
        self._socket = tls.wrap_socket(plain, server_hostname=host) if tls else plain
        self._correlation = count(1)
        self._ask(PEER_PROPERTIES, pairs({"product": "mqops test"}))
        self._ask(SASL_HANDSHAKE, b"")
        login = f"\0{rabbitmq.user}\0{rabbitmq.password}".encode()
        self._ask(SASL_AUTHENTICATE, text("PLAIN") + struct.pack(">i", len(login)) + login)
        frame_size = self._read(TUNE)[4:8]
        self._send(struct.pack(">HH", TUNE, 1) + frame_size + bytes(4))  # no heartbeats: tests end soon
        self._ask(OPEN, text(vhost))

    def store(self, stream: str, name: str, offset: int) -> None:
        """Store an offset under a name; returns when the broker has it."""
        where = text(name) + text(stream)
        self._send(struct.pack(">HH", STORE_OFFSET, 1) + where + struct.pack(">Q", offset))
        stored = None
        while stored != offset:  # the command has no answer; the socket's deadline ends this
            code, answer = self._ask(QUERY_OFFSET, where, (OK, NO_OFFSET))
            stored = struct.unpack(">Q", answer[:8])[0] if code == OK else None

    def subscribe(self, stream: str, name: str, offset: int, credit: int) -> None:
        """Consume from an offset, at most `credit` chunks."""
        self._subscribe(stream, name, struct.pack(">HQ", ABSOLUTE, offset), credit)

    def subscribe_at_next(self, stream: str, name: str, credit: int) -> None:
        """Consume what will be written from now on."""
        self._subscribe(stream, name, struct.pack(">H", NEXT), credit, b"\x02")

    def _subscribe(self, stream: str, name: str, start: bytes, credit: int, number: bytes = b"\x01") -> None:
        self._ask(SUBSCRIBE, number + text(stream) + start + struct.pack(">h", credit) + pairs({"name": name}))

    def _ask(self, key: int, body: bytes, allowed: tuple[int, ...] = (OK,)) -> tuple[int, bytes]:
        """The code of the answer, and what follows it."""
        self._send(struct.pack(">HHi", key, 1, next(self._correlation)) + body)
        answer = self._read(key | RESPONSE)
        code = struct.unpack(">H", answer[8:10])[0]
        assert code in allowed, f"command {key:#x} was refused: {code}"
        return code, answer[10:]

    def _send(self, frame: bytes) -> None:
        self._socket.sendall(struct.pack(">i", len(frame)) + frame)

    def _read(self, key: int) -> bytes:
        """The next frame of this key; others (deliveries, heartbeats) are passed over."""
        while True:
            frame = self._exactly(struct.unpack(">i", self._exactly(4))[0])
            if struct.unpack(">H", frame[:2])[0] == key:
                return frame

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self._socket.recv(size - len(data))
            assert more, "the broker closed the connection"
            data += more
        return data

    def __enter__(self) -> StreamClient:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
