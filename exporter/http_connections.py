"""Connections within bounds: a limit on their number, and a deadline for each request that somebody is sending."""

from __future__ import annotations

import io
import socket
import threading
import time
from contextlib import suppress


class DeadlineReader(io.RawIOBase):
    """The receiving side of a socket. Raises TimeoutError once `deadline` (monotonic) has passed.

    A time-out for each `recv` would not do: a client that sends one byte a second would never meet it.
    """

    def __init__(self, connection: socket.socket) -> None:
        super().__init__()
        self.connection = connection
        self.deadline = time.monotonic()

    def readable(self) -> bool:
        """Always; there is no writing side."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Receive what has come, or wait for it until the deadline."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the request did not come in time")
        self.connection.settimeout(left)
        return self.connection.recv_into(buffer)


class Connections:
    """Which connections are open. At the limit, whoever has kept us waiting longest for a request makes room."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._lock = threading.Lock()
        self._waiting: dict[socket.socket, None] = {}  # in the order in which they began to wait
        self._busy: set[socket.socket] = set()

    def __len__(self) -> int:
        with self._lock:
            return len(self._waiting) + len(self._busy)

    def admit(self, connection: socket.socket) -> bool:
        """Take in a new connection; False when the limit is reached and every one is being answered."""
        with self._lock:
            evicted = None
            if len(self._waiting) + len(self._busy) >= self.limit:
                if not self._waiting:
                    return False
                evicted = next(iter(self._waiting))
                del self._waiting[evicted]
            self._waiting[connection] = None
        if evicted is not None:
            hang_up(evicted)
        return True

    def begin(self, connection: socket.socket) -> bool:
        """A whole request has come and is being answered; False when the connection had to make room."""
        with self._lock:
            if connection not in self._waiting:
                return False
            del self._waiting[connection]
            self._busy.add(connection)
            return True

    def wait(self, connection: socket.socket) -> None:
        """The request has been answered; the connection waits for the next one."""
        with self._lock:
            if connection in self._busy:
                self._busy.discard(connection)
                self._waiting[connection] = None

    def leave(self, connection: socket.socket) -> None:
        """The connection is closed."""
        with self._lock:
            self._waiting.pop(connection, None)
            self._busy.discard(connection)

    def hang_up_all(self) -> None:
        """End every connection, so that the server can stop at once."""
        with self._lock:
            every = [*self._waiting, *self._busy]
        for connection in every:
            hang_up(connection)


def hang_up(connection: socket.socket) -> None:
    """Wake the thread that waits on this connection: it sees the end of the stream. The thread closes it."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
