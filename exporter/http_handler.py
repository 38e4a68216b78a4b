"""One connection: reads requests under a deadline, writes the site's answers."""

from __future__ import annotations

import contextlib
import gzip
import io
import logging
import socket
import ssl
import time
from collections.abc import Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING

from exporter import VERSION
from exporter.http_connections import DeadlineReader
from exporter.http_negotiation import wants_gzip
from exporter.http_response import Request, Response, text
from exporter.http_sending import send_all
from exporter.log import one_line

if TYPE_CHECKING:
    from exporter.server import Server

log = logging.getLogger(__name__)
LARGEST_BODY = 64 * 1024  # nothing here needs one; it is read so that the connection stays usable
WORTH_COMPRESSING = 1400  # bytes: less fits into one packet anyway
ONE_READ = 64 * 1024
FAREWELL = 1.0  # seconds in which a client that is refused can read why


class Handler(BaseHTTPRequestHandler):
    """Reads, dispatches and writes. Everything about paths and formats is the site's."""

    server: Server
    connection: socket.socket
    protocol_version = "HTTP/1.1"
    server_version = f"mq-exporter/{VERSION}"
    sys_version = ""
    disable_nagle_algorithm = True

    def setup(self) -> None:
        """Put a deadline on everything that is read."""
        super().setup()
        self.reader = DeadlineReader(self.connection)
        self.requests = self.rfile = io.BufferedReader(self.reader, ONE_READ)

    def handle(self) -> None:
        """Answer requests until the client, a deadline or the limit ends the connection."""
        patience = self.server.limits.first_request
        try:
            if isinstance(self.connection, ssl.SSLSocket):
                self.connection.settimeout(patience)
                shake_hands(self.connection)
                if not self.server.welcomes(self.connection):
                    log.debug("%s: its certificate has none of client_allowed_sans", self.address_string())
                    return
            self.close_connection = False
            while not self.close_connection:
                self.close_connection = True
                self.reader.deadline = time.monotonic() + patience
                if not self.requests.peek(1):
                    return
                self.reader.deadline = time.monotonic() + self.server.limits.request
                self.handle_one_request()
                self.server.connections.wait(self.connection)
                patience = self.server.limits.idle
        except OSError as error:  # hung up, reset, or too slow: the client's affair
            log.debug("%s: connection ended: %s", self.address_string(), error)

    def handle_one_request(self) -> None:
        """Read one request and answer it."""
        self.raw_requestline = self.rfile.readline(65537)
        if len(self.raw_requestline) > 65536:
            self.requestline = self.request_version = self.command = ""
            self.send_error(HTTPStatus.REQUEST_URI_TOO_LONG)
            return
        if not self.raw_requestline or not self.parse_request() or not self.skip_body():
            return
        if self.server.connections.begin(self.connection):
            request = Request(self.command, self.path, {name.lower(): value for name, value in self.headers.items()})
            self.reply(self.server.answer(request))

    def skip_body(self) -> bool:
        """Read the body away; False when it was refused and the connection is to be closed."""
        length = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers or not length.isdecimal():
            self.send_error(HTTPStatus.LENGTH_REQUIRED, explain="send no body, or one with a Content-Length")
            return False
        if int(length) > LARGEST_BODY:
            self.send_error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, explain="no request here needs a body")
            return False
        return len(self.rfile.read(int(length))) == int(length)

    def reply(self, response: Response) -> None:
        """Write one response within one deadline, compressed where that is welcome and not done yet."""
        chunks: Sequence[bytes] = response.chunks
        headers = dict(response.headers)
        if response.compressible and sum(map(len, chunks)) >= WORTH_COMPRESSING and self.wants_gzip():
            chunks = [gzip.compress(b"".join(chunks), 1)]
            headers["Content-Encoding"] = "gzip"
        head = self.head(response, headers, sum(map(len, chunks)))
        self.log_request(response.status)
        deadline = time.monotonic() + self.server.limits.answer
        send_all(self.connection, [head, *chunks] if self.command != "HEAD" else [head], deadline)

    def wants_gzip(self) -> bool:
        """Whether this request wants its answer compressed."""
        return wants_gzip(self.headers.get("Accept-Encoding", ""))

    def head(self, response: Response, headers: dict[str, str], size: int) -> bytes:
        """Status line and headers, as bytes that go out together with the first chunk."""
        lines = [f"HTTP/1.1 {response.status.value} {response.status.phrase}"]
        headers |= {
            "Server": self.version_string(),
            "Date": self.date_time_string(),
            "Content-Type": response.content_type,
            "Content-Length": str(size),
            "X-Content-Type-Options": "nosniff",
        }
        if self.close_connection:
            headers["Connection"] = "close"
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return "\r\n".join([*lines, "", ""]).encode("latin-1")

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer a request that could not be read, and end the connection: what follows may be anything."""
        self.close_connection = True
        status = HTTPStatus(code)
        self.reply(text(f"{code} {message or status.phrase}\n{explain or status.description}\n", status))

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """A line for each request, at level debug only."""
        log.debug("%s %s -> %s (%s)", self.address_string(), one_line(self.requestline), code, size)

    def log_error(self, format: str, *args: object) -> None:  # noqa: A002 - the name is BaseHTTPRequestHandler's
        """What a client did wrong is no news to us."""
        log.debug("%s " + format, self.address_string(), *args)


def shake_hands(connection: ssl.SSLSocket) -> None:
    """The TLS handshake. Raises OSError, once the client could read why it was refused.

    A client sends its request behind its certificate; closed with that unread, the connection would be reset, and the
    client might see the reset in place of the reason.
    """
    try:
        connection.do_handshake()
    except ssl.SSLError:
        with contextlib.suppress(OSError):
            connection.settimeout(FAREWELL)
            connection.shutdown(socket.SHUT_WR)
            deadline = time.monotonic() + FAREWELL
            while connection.recv(ONE_READ) and time.monotonic() < deadline:
                pass
        raise
