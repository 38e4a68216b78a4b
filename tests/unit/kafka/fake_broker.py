"""A listener on loopback that plays a broker, or something that is none, for the tests of connections."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from exporter.clients.kafka.wire import INT32, compact_array

Answer = Callable[[int, int, bytes], bytes | None]  # api key, version, body -> body of the answer, None closes

VERSIONS = b"\0\0" + compact_array(
    struct.pack(">hhh", key, 0, highest) + b"\0" for key, highest in ((3, 12), (16, 5), (17, 1), (18, 3), (36, 2))
)
API_VERSIONS_ANSWER = VERSIONS + INT32.pack(0) + b"\0"


@contextmanager
def listener(serve: Callable[[socket.socket], None], context: ssl.SSLContext | None = None) -> Iterator[int]:
    """A port; every connection to it is given to `serve` in a thread of its own."""
    server = socket.create_server(("127.0.0.1", 0))
    stopped = threading.Event()
    open_sockets: set[socket.socket] = set()

    def accept() -> None:
        while not stopped.is_set():
            try:
                sock, _ = server.accept()
            except OSError:
                return
            open_sockets.add(sock)
            threading.Thread(target=handle, args=(sock,), daemon=True).start()

    def handle(sock: socket.socket) -> None:
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # an answer in parts waits for no delayed ACK
            serve(shaken(context, sock) if context else sock)
        except OSError:
            sock.close()
        finally:
            open_sockets.discard(sock)

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield server.getsockname()[1]
    finally:
        stopped.set()
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join(5)
        for sock in tuple(open_sockets):
            sock.close()


def shaken(context: ssl.SSLContext, sock: socket.socket) -> socket.socket:
    """The same after a TLS handshake. A client that is refused can read why: the connection is not reset over it."""
    sock.settimeout(20)
    raw = sock.dup()
    wrapped = context.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
    try:
        wrapped.do_handshake()
    except ssl.SSLError:
        with wrapped, raw:
            raw.shutdown(socket.SHUT_WR)
            while raw.recv(65536):
                pass
        raise
    raw.close()
    wrapped.settimeout(None)
    return wrapped


def exactly(sock: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = sock.recv(count - len(data))
        if not more:
            raise OSError("closed")
        data += more
    return data


def broker(answer: Answer) -> Callable[[socket.socket], None]:
    """Serves Kafka frames: ApiVersions by itself, everything else by `answer`."""

    def serve(sock: socket.socket) -> None:
        with sock:
            while True:
                frame = exactly(sock, INT32.unpack(exactly(sock, 4))[0])
                key, version, correlation, size = struct.unpack_from(">hhih", frame)
                flexible = key == 18 or (key, version) not in {(17, 1), (36, 0), (36, 1)}
                body = frame[10 + size + (1 if flexible else 0) :]
                reply = API_VERSIONS_ANSWER if key == 18 else answer(key, version, body)
                if reply is None:
                    return
                head = INT32.pack(correlation) + (b"\0" if flexible and key != 18 else b"")
                sock.sendall(INT32.pack(len(head) + len(reply)) + head + reply)

    return serve


def server_context(cert: Path, key: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context
