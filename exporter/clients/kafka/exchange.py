"""Many connections at once, in one thread: everything is sent, everything is read, and nobody waits for a slow one."""

from __future__ import annotations

import selectors
import time
from collections.abc import Collection

from exporter.clients.kafka.connection import Connection
from exporter.clients.kafka.failures import Failure, UnusableError


def exchange(connections: Collection[Connection], deadline: float, seconds: float) -> dict[Connection, Failure]:
    """Move bytes until every connection has its answers or the deadline (monotonic) has passed.

    The failures of those that have not; these connections must be closed. `seconds` is only for their words.
    """
    failures: dict[Connection, Failure] = {}
    with selectors.DefaultSelector() as selector:
        for connection in connections:
            _advance(connection, selector, failures, first=True)
        while selector.get_map():
            remaining = deadline - time.monotonic()
            ready = selector.select(remaining) if remaining > 0 else []
            if not ready and time.monotonic() >= deadline:
                break
            for key, _ in ready:
                _advance(key.data, selector, failures)
        late = [key.data for key in selector.get_map().values()]
    failures.update({connection: connection.late(seconds) for connection in late})
    return failures


def _advance(
    connection: Connection, selector: selectors.BaseSelector, failures: dict[Connection, Failure], first: bool = False
) -> None:
    try:
        if connection.wants_write:
            connection.write()
        if not first:
            connection.read()
    except UnusableError as unusable:
        failures[connection] = unusable.failure
    finished = connection in failures or connection.done
    wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if connection.wants_write else 0)
    if first and not finished:
        selector.register(connection.socket, wanted, connection)
    elif not first and finished:
        selector.unregister(connection.socket)
    elif not first:
        selector.modify(connection.socket, wanted, connection)
