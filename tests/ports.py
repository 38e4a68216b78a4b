"""Ports of loopback for tests that run side by side."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def reserved_port() -> Iterator[int]:
    """A port where nobody listens, given to nobody else until the block ends; who asks for it by number may listen.

    Bound and not listened on: connections are refused, the kernel hands it out to nobody, and a server that sets
    SO_REUSEADDR (as they do) can still take it.
    """
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield int(holder.getsockname()[1])
