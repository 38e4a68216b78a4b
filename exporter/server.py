"""The HTTP server: listens, bounds its connections, hands each request to the site. A scrape never waits for a poll."""

from __future__ import annotations

import errno
import logging
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http.server import ThreadingHTTPServer
from typing import Any

from exporter.config.addresses import split_host_port
from exporter.http_connections import Connections
from exporter.http_handler import Handler
from exporter.http_response import Request, Response

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """How many connections, and how many seconds a client may take."""

    connections: int = 256
    first_request: float = 10.0  # from the connection to the first byte of a request
    request: float = 10.0  # from the first byte to the whole request
    answer: float = 60.0  # to take the answer
    idle: float = 120.0  # between two requests; Prometheus comes every 15 s to 1 min


class CannotListenError(Exception):
    """The address cannot be listened on; the text says why and what to do."""


class Server(ThreadingHTTPServer):
    """A server on one address, in threads of its own. `answer` makes a response of each request."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(
        self,
        address: str,
        answer: Callable[[Request], Response],
        limits: Limits | None = None,
        tls: Callable[[], ssl.SSLContext | None] = lambda: None,
        welcomes: Callable[[ssl.SSLSocket], bool] = lambda _: True,
    ) -> None:
        self.answer = answer
        self.limits = limits or Limits()
        self.tls = tls
        self.welcomes = welcomes  # asked after the handshake, when the client's certificate is known
        self.connections = Connections(self.limits.connections)
        self._thread = threading.Thread(target=self.serve_forever, args=[0.1], name="http", daemon=True)
        host, port = split_host_port(address)
        try:
            self.address_family, where = resolve(host, port)
            super().__init__(where, Handler)
        except OSError as error:
            raise CannotListenError(explain(address, error)) from None

    def server_bind(self) -> None:
        """Bind without looking up our own name, which HTTPServer does and which can take seconds."""
        if self.address_family == socket.AF_INET6 and self.server_address[0] == "::":
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)  # `:9977` is IPv4 and IPv6
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    @property
    def url(self) -> str:
        """Where a browser on this machine finds it."""
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(self.server_name, self.server_name)  # noqa: S104
        scheme = "http" if self.tls() is None else "https"
        return f"{scheme}://{f'[{host}]' if ':' in host and not host.startswith('[') else host}:{self.server_port}/"

    def start(self) -> None:
        """Serve in the background."""
        self._thread.start()

    def stop(self) -> None:
        """Stop accepting and end every connection."""
        if self._thread.is_alive():
            self.shutdown()
        self.server_close()
        self.connections.hang_up_all()

    def get_request(self) -> tuple[Any, Any]:
        """A new connection. Its handshake is left to its own thread: a slow one must keep nobody waiting."""
        connection, where = super().get_request()
        context = self.tls()
        if context is None:
            return connection, where
        try:
            return context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False), where
        except (OSError, ValueError) as error:  # the client has gone already
            connection.close()
            raise OSError(str(error)) from None

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread, unless there are too many connections that are all being answered."""
        if self.connections.admit(request):
            super().process_request(request, client_address)
            return
        with suppress(OSError):
            request.settimeout(0.1)
            request.sendall(b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        self.shutdown_request(request)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection, however it ended."""
        self.connections.leave(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - socketserver's signature
        """A fault of ours in answering one request."""
        log.exception("a request could not be answered; this is a fault of the exporter")


def resolve(host: str, port: int) -> tuple[socket.AddressFamily, Any]:
    """Address family and address of what is to be listened on; an empty host means every interface."""
    if not host:
        return (socket.AF_INET6, ("::", port)) if _has_ipv6() else (socket.AF_INET, ("0.0.0.0", port))  # noqa: S104
    family, _, _, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    return family, where


def _has_ipv6() -> bool:
    """Whether an IPv6 socket for both families can be bound here; containers often have none."""
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            probe.bind(("::", 0))
    except OSError:
        return False
    return True


def explain(address: str, error: OSError) -> str:
    """Why the address cannot be listened on, and what to do."""
    if error.errno == errno.EADDRINUSE:
        why = "the port is in use (by another mq-exporter?); choose another with --web.listen-address"
    elif error.errno == errno.EACCES:
        why = "no permission; ports below 1024 are for root: choose a higher one with --web.listen-address"
    elif error.errno == errno.EADDRNOTAVAIL:
        why = "this machine has no such address; `:PORT` listens on every one it has"
    elif isinstance(error, socket.gaierror):
        why = f"the host name is not known ({error.strerror})"
    else:
        why = error.strerror or str(error)
    return f"cannot listen on {address}: {why}"
