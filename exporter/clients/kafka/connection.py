"""One connection to one broker: framing, pipelining and correlation over a socket that never blocks.

A connection that failed is closed for good: after a missed answer nothing on it could be told apart.
"""

from __future__ import annotations

import socket
import ssl
import struct
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from exporter.clients.kafka import tls
from exporter.clients.kafka.failures import Failure, UnusableError
from exporter.clients.kafka.wire import INT32, MalformedError, plain, read_varint
from exporter.model.common import Kind

API_VERSIONS = 18
HEADER = struct.Struct(">hhi")  # api key, version, correlation id
FIRST_ROOM = 1024 * 1024  # bytes; more is taken as they come: a length alone must not cost memory
OTHERS = {
    b"HTTP": "speaks HTTP: that is not Kafka's port (often 9092): correct bootstrap_servers",
    b"AMQP": "speaks AMQP: that is RabbitMQ's port, not Kafka's (often 9092): correct bootstrap_servers",
    b"\x15\x03": "speaks TLS: set security_protocol to SSL or SASL_SSL",
    b"SSH-": "speaks SSH: that is not Kafka's port (often 9092): correct bootstrap_servers",
}


@dataclass(frozen=True, slots=True)
class Request:
    """One request without its header. `flexible` tells the version of the header, as of the body."""

    api_key: int
    version: int
    body: bytes
    flexible: bool = True


class Connection:
    """Requests go in by `queue`; `write` and `read` move what the socket allows; `answers` fills in order."""

    def __init__(self, sock: socket.socket, address: str, client_id: str, max_answer_bytes: int) -> None:
        self.socket = sock
        self.address = address
        self.versions: dict[int, tuple[int, int]] = {}
        self.expires_at = float("inf")  # monotonic; before it the session must be renewed
        self.answers: list[bytes] = []
        self.used = False
        self._client_id = plain(client_id)
        self._max_answer_bytes = max_answer_bytes
        self._correlation = 0
        self._waiting: deque[tuple[int, bool]] = deque()
        self._outgoing = memoryview(b"")
        self._head = bytearray()
        self._frame: bytearray | None = None
        self._length = 0
        self._have = 0

    def queue(self, requests: Iterable[Request]) -> None:
        """Line up requests; their answers will be in `answers`, which starts empty."""
        parts = [bytes(self._outgoing)]
        for request in requests:
            self._correlation += 1
            header = HEADER.pack(request.api_key, request.version, self._correlation) + self._client_id
            header += b"\0" if request.flexible else b""
            parts += [INT32.pack(len(header) + len(request.body)), header, request.body]
            self._waiting.append((self._correlation, request.flexible and request.api_key != API_VERSIONS))
        self._outgoing = memoryview(b"".join(parts))
        self.answers = []

    @property
    def done(self) -> bool:
        """Whether every request has its answer."""
        return not self._waiting

    @property
    def wants_write(self) -> bool:
        """Whether bytes are waiting to be sent."""
        return bool(self._outgoing)

    def write(self) -> None:
        """Send what the socket takes now. Raises UnusableError."""
        try:
            while self._outgoing:
                self._outgoing = self._outgoing[self.socket.send(self._outgoing) :]
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return
        except OSError as error:
            raise UnusableError(self._broken(error)) from None

    def read(self) -> None:
        """Take what has arrived. Raises UnusableError when the connection ended or what came is not Kafka."""
        try:
            while self._waiting and self._receive():
                pass
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return
        except OSError as error:
            raise UnusableError(self._broken(error)) from None

    def _receive(self) -> bool:
        """One read from the socket; whether to go on."""
        if self._frame is None:
            data = self.socket.recv(4 - len(self._head))
            self._head += data
            if data and len(self._head) == 4:
                self._begin_frame()
            elif not data:
                raise UnusableError(self._ended())
            return True
        if self._have == len(self._frame):
            self._frame.extend(bytes(min(self._have, self._length - self._have)))
        with memoryview(self._frame) as room, room[self._have :] as free:
            count = self.socket.recv_into(free)
        if not count:
            raise UnusableError(self._ended())
        self._have += count
        if self._have == self._length:
            self._end_frame(bytes(self._frame))
        return True

    def _begin_frame(self) -> None:
        length = INT32.unpack(self._head)[0]
        if not 4 <= length <= self._max_answer_bytes:
            raise UnusableError(self._foreign(length))
        self._frame, self._length, self._have = bytearray(min(length, FIRST_ROOM)), length, 0

    def _end_frame(self, frame: bytes) -> None:
        self._frame = None
        self._head.clear()
        correlation, tagged = self._waiting.popleft()
        if INT32.unpack_from(frame)[0] != correlation:
            detail = f"{self.address}: an answer belongs to another request: is a proxy in between mixing connections?"
            raise UnusableError(Failure(Kind.PROTOCOL, detail))
        try:
            self.answers.append(frame[_skip_tags(frame, 4) if tagged else 4 :])
        except (IndexError, MalformedError):
            detail = f"{self.address}: the header of an answer can't be read: is a proxy in between damaging it?"
            raise UnusableError(Failure(Kind.PROTOCOL, detail)) from None

    def _foreign(self, length: int) -> Failure:
        head = bytes(self._head)
        for start, words in OTHERS.items():
            if head.startswith(start):
                return Failure(Kind.TLS if start == b"\x15\x03" else Kind.PROTOCOL, f"{self.address} {words}")
        limit = f"allowed are {self._max_answer_bytes} (client property receive_message_max_bytes)"
        return Failure(Kind.PROTOCOL, f"{self.address}: an answer of {length} bytes is not Kafka's; {limit}")

    def _ended(self) -> Failure:
        words = "the broker closed the connection"
        if not self.versions and isinstance(self.socket, ssl.SSLSocket):
            words += " after the TLS handshake: does this listener want a client certificate? Set ssl_certfile"
            return Failure(Kind.TLS, f"{self.address}: {words}", closed=True)
        if not self.versions:
            words += " at the first request: does this port expect TLS (see security_protocol), or is it not Kafka's?"
        elif not self.used:
            words += " after the first requests: does this listener want a SASL login? See security_protocol"
        return Failure(Kind.UNREACHABLE, f"{self.address}: {words}", closed=True)

    def _broken(self, error: OSError) -> Failure:
        if isinstance(error, ConnectionResetError | BrokenPipeError | ssl.SSLEOFError | ssl.SSLZeroReturnError):
            return self._ended()
        if isinstance(error, ssl.SSLError):
            return tls.failure(self.address, error)
        return Failure(Kind.UNREACHABLE, f"{self.address}: {error.strerror or error}", closed=True)

    def late(self, seconds: float) -> Failure:
        """The failure for a deadline that passed."""
        words = "the broker may be frozen, overloaded or cut off: look at its log and the way to it"
        return Failure(Kind.TIMEOUT, f"{self.address}: no answer within {seconds:g} s: {words}")

    def stale(self) -> bool:
        """Whether the other side closed the connection, or sent something unasked, since it was last used."""
        try:
            self.socket.recv(1)
        except (BlockingIOError, ssl.SSLWantReadError):
            return False
        except OSError:
            return True
        return True

    def close(self) -> None:
        """Close the socket."""
        self.socket.close()


def _skip_tags(data: bytes, at: int) -> int:
    count, at = read_varint(data, at)
    for _ in range(count):
        _, at = read_varint(data, at)
        size, at = read_varint(data, at)
        at += size
    return at
