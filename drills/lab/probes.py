"""Small questions to a server, answered by the server itself: an open port proves nothing, a frozen one has it too."""

from __future__ import annotations

import base64
import http.client
import json
import socket
import ssl
import struct
from typing import Any

TIMEOUT = 2.0  # seconds
API_VERSIONS, METADATA, DESCRIBE_QUORUM = 18, 3, 55
QUORUM_TOPIC = b"__cluster_metadata"


def kafka_answers(port: int, tls: ssl.SSLContext | None = None) -> bool:
    """Whether a Kafka broker or controller answers ApiVersions."""
    answer = _ask_kafka(port, API_VERSIONS, 0, b"", tls)
    return answer is not None and answer[:2] == b"\0\0"


def kafka_brokers(port: int, tls: ssl.SSLContext | None = None) -> frozenset[int] | None:
    """Ids of the brokers that are registered and not fenced, says the broker on `port`; None when it does not answer.

    Metadata v1 asked for no topic: its answer begins with an array of (id int32, host, port int32, rack).
    """
    answer = _ask_kafka(port, METADATA, 1, struct.pack(">i", 0), tls)
    if answer is None:
        return None
    (count,) = struct.unpack_from(">i", answer)
    ids, at = set(), 4
    for _ in range(count):
        (broker,) = struct.unpack_from(">i", answer, at)
        ids.add(broker)
        at = _after_string(answer, _after_string(answer, at + 4) + 4)
    return frozenset(ids)


def kafka_leads(port: int, tls: ssl.SSLContext | None = None) -> bool:
    """Whether the controller on `port` is the active one: only that answers DescribeQuorum without an error.

    Version 0 about partition 0; the error of the partition is behind the error of the whole (int16), the lengths of two
    arrays and of the topic's name (a byte each), the name and the partition's number (int32).
    """
    topic = bytes([len(QUORUM_TOPIC) + 1]) + QUORUM_TOPIC
    body = b"\2" + topic + b"\2" + struct.pack(">i", 0) + b"\0\0\0"
    answer = _ask_kafka(port, DESCRIBE_QUORUM, 0, body, tls, flexible=True)
    at = 2 + 3 + len(QUORUM_TOPIC) + 4
    return answer is not None and answer[:2] == b"\0\0" and answer[at : at + 2] == b"\0\0"


def amqp_answers(port: int, tls: ssl.SSLContext | None = None) -> bool:
    """Whether an AMQP 0-9-1 server greets: first comes Connection.Start, a method frame (type 1) on channel 0."""
    try:
        with _connect(port, tls) as connection:
            connection.sendall(b"AMQP\x00\x00\x09\x01")
            return connection.recv(3) == b"\x01\x00\x00"
    except OSError:
        return False


def http_json(
    port: int, path: str, *, user: str = "", timeout: float = TIMEOUT, tls: ssl.SSLContext | None = None
) -> Any:
    """The JSON a server answers with status 200; None for anything else. `user` is NAME:PASSWORD."""
    status, body = http_get(port, path, user=user, timeout=timeout, tls=tls)
    try:
        return json.loads(body) if status == 200 else None
    except ValueError:
        return None


def http_get(
    port: int,
    path: str,
    *,
    user: str = "",
    timeout: float = TIMEOUT,
    method: str = "GET",
    tls: ssl.SSLContext | None = None,
) -> tuple[int, bytes]:
    """Status and body; status 0 and the reason when there is no answer in time."""
    if tls is None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    else:
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=timeout, context=tls)
    headers = {"Authorization": "Basic " + base64.b64encode(user.encode()).decode()} if user else {}
    try:
        connection.request(method, path, headers=headers)
        response = connection.getresponse()
        return response.status, response.read()
    except (OSError, http.client.HTTPException) as error:
        return 0, str(error).encode()
    finally:
        connection.close()


def _connect(port: int, tls: ssl.SSLContext | None) -> socket.socket:
    """A connection to loopback whose steps each have the time-out. Raises OSError."""
    plain = socket.create_connection(("127.0.0.1", port), TIMEOUT)
    if tls is None:
        return plain
    try:
        return tls.wrap_socket(plain, server_hostname="127.0.0.1")
    except BaseException:
        plain.close()
        raise


def _ask_kafka(
    port: int, api: int, version: int, body: bytes, tls: ssl.SSLContext | None, *, flexible: bool = False
) -> bytes | None:
    """The body of the answer; None when there is none in time. Flexible headers end with a count of tags: none."""
    tags = b"\0" if flexible else b""
    request = struct.pack(">hhih", api, version, 1, 3) + b"lab" + tags + body
    try:
        with _connect(port, tls) as connection:
            connection.sendall(struct.pack(">i", len(request)) + request)
            (size,) = struct.unpack(">i", _exactly(connection, 4))
            return _exactly(connection, size)[4 + len(tags) :]
    except OSError:
        return None


def _exactly(connection: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = connection.recv(size - len(parts))
        if not part:
            raise ConnectionError("closed before the answer was whole")
        parts += part
    return bytes(parts)


def _after_string(answer: bytes, at: int) -> int:
    length: int = struct.unpack_from(">h", answer, at)[0]
    return at + 2 + max(length, 0)
