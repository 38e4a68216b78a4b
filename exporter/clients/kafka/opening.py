"""Opening a connection: name, TCP, TLS, versions, login, all within one deadline."""

from __future__ import annotations

import socket
import ssl
import time

from exporter import VERSION
from exporter.clients.kafka import codes, sasl, tls
from exporter.clients.kafka.address import Address
from exporter.clients.kafka.connection import API_VERSIONS, Connection, Request
from exporter.clients.kafka.exchange import exchange
from exporter.clients.kafka.failures import Failure, UnusableError
from exporter.clients.kafka.properties import Client, Value
from exporter.clients.kafka.wire import Cursor, MalformedError, compact
from exporter.model.common import Kind

RENEW_AT = 0.85  # of a session's lifetime, as Java's client does it


def open_connection(address: Address, client: Client, timeout: float) -> Connection:
    """A connection that is ready for requests. Raises UnusableError."""
    deadline = time.monotonic() + timeout
    values = client.values()
    sock = _tcp(address, deadline, timeout)
    try:
        if client.protocol.endswith("SSL"):
            sock = _tls(sock, address, values, deadline, timeout)
        sock.setblocking(False)
        connection = Connection(sock, str(address), client.client_id, client.max_answer_bytes)
        connection.versions = _versions(connection, deadline, timeout)
        if client.protocol.startswith("SASL"):
            _log_in(connection, address, values, deadline, timeout)
    except BaseException:
        sock.close()
        raise
    return connection


def _tcp(address: Address, deadline: float, timeout: float) -> socket.socket:
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except (OSError, ValueError, OverflowError) as error:  # not only unknown: a broker may name what is no name
        why = getattr(error, "strerror", None) or error
        detail = f"{address}: the name can't be resolved ({why}): check its spelling and DNS"
        raise UnusableError(Failure(Kind.UNREACHABLE, detail)) from None
    failure = Failure(Kind.UNREACHABLE, f"{address}: the name has no address")
    for left, (family, kind, protocol, _, where) in zip(range(len(found), 0, -1), found, strict=True):
        sock = socket.socket(family, kind, protocol)
        sock.settimeout(max(deadline - time.monotonic(), 0.001) / left)
        try:
            sock.connect(where)
        except (OSError, OverflowError) as error:
            sock.close()
            failure = _connect_failure(address, error, timeout)
        else:
            _keep_alive(sock)
            return sock
    raise UnusableError(failure)


def _connect_failure(address: Address, error: OSError | OverflowError, timeout: float) -> Failure:
    if isinstance(error, TimeoutError):
        words = "the host is down, or a firewall drops the packets: try to reach it from here"
        return Failure(Kind.TIMEOUT, f"{address}: no connection within {timeout:g} s: {words}")
    if isinstance(error, ConnectionRefusedError):
        return Failure(
            Kind.UNREACHABLE,
            f"{address}: connection refused: no broker listens on this port: does it run, and is the port right?",
        )
    if isinstance(error, OverflowError):
        return Failure(Kind.PROTOCOL, f"{address}: there is no such port: look at advertised.listeners of the brokers")
    return Failure(Kind.UNREACHABLE, f"{address}: {error.strerror or error}")


def _keep_alive(sock: socket.socket) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_KEEPIDLE"):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 30)


def _tls(
    sock: socket.socket, address: Address, values: dict[str, Value], deadline: float, timeout: float
) -> socket.socket:
    context = tls.context(values)
    sock.settimeout(max(deadline - time.monotonic(), 0.001))
    try:
        return context.wrap_socket(sock, server_hostname=address.host)
    except ssl.SSLError as error:
        raise UnusableError(tls.failure(str(address), error)) from None
    except TimeoutError:
        words = "a frozen broker, or a port that does not speak TLS: see security_protocol"
        detail = f"{address}: no TLS handshake within {timeout:g} s: {words}"
        raise UnusableError(Failure(Kind.TIMEOUT, detail)) from None
    except OSError:
        words = "closed the connection in the TLS handshake: is it a plaintext port? See security_protocol"
        raise UnusableError(Failure(Kind.TLS, f"{address}: {words}")) from None


def _ask(connection: Connection, request: Request, deadline: float, timeout: float) -> bytes:
    connection.queue([request])
    failed = exchange([connection], deadline, timeout)
    if connection in failed:
        raise UnusableError(failed[connection])
    return connection.answers[0]


def _versions(connection: Connection, deadline: float, timeout: float) -> dict[int, tuple[int, int]]:
    """Lowest and highest version of each request that the broker knows. Version 3, then 0 where it is too new."""
    request = Request(API_VERSIONS, 3, compact("mq-exporter") + compact(VERSION) + b"\0")
    answer = _ask(connection, request, deadline, timeout)
    if int.from_bytes(answer[:2], "big") == codes.UNSUPPORTED_VERSION:
        answer = _ask(connection, Request(API_VERSIONS, 0, b"", flexible=False), deadline, timeout)
        return _version_table(Cursor(answer, flexible=False), connection.address)
    return _version_table(Cursor(answer), connection.address)


def _version_table(answer: Cursor, address: str) -> dict[int, tuple[int, int]]:
    try:
        code = answer.int16()
        table = {}
        for _ in range(answer.count()):
            api_key, lowest, highest = answer.int16(), answer.int16(), answer.int16()
            table[api_key] = (lowest, highest)
            answer.tags()
    except MalformedError:
        code, table = codes.NONE, {}
    if code != codes.NONE or not table:
        detail = f"{address}: no usable answer to ApiVersions ({codes.name(code)}): is it a Kafka broker?"
        raise UnusableError(Failure(Kind.PROTOCOL, detail))
    return table


def _log_in(
    connection: Connection, address: Address, values: dict[str, Value], deadline: float, timeout: float
) -> None:
    def ask(api_key: int, version: int, body: bytes, flexible: bool) -> bytes:
        return _ask(connection, Request(api_key, version, body, flexible), deadline, timeout)

    highest = connection.versions.get(sasl.AUTHENTICATE, (0, 0))[1]
    try:
        lifetime = sasl.log_in(ask, values, address.host, str(address), min(highest, 2))
    except MalformedError:
        raise UnusableError(Failure(Kind.PROTOCOL, f"{address}: the SASL answer can't be read")) from None
    if lifetime > 0:
        connection.expires_at = time.monotonic() + RENEW_AT * lifetime
