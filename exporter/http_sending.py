"""Sending an answer whole, within one deadline, with as few calls as can be."""

from __future__ import annotations

import socket
import ssl
import struct
import time
from collections.abc import Iterator, Sequence

ONE_CALL = 512  # buffers in one call; Linux takes 1,024
ONE_WRITE = 64 * 1024
ONE_SEND = 1024 * 1024


def send_all(connection: socket.socket, buffers: Sequence[bytes], deadline: float) -> None:
    """Send everything before the deadline (monotonic), however slowly the other side reads. Raises TimeoutError."""
    if isinstance(connection, ssl.SSLSocket):  # its time-out is for each record, not the whole
        for buffer in batches(buffers):
            for start in range(0, len(buffer), ONE_SEND):
                connection.settimeout(max(deadline - time.monotonic(), 0.001))
                connection.sendall(memoryview(buffer)[start : start + ONE_SEND])
        return
    connection.settimeout(None)
    for first in range(0, len(buffers), ONE_CALL):
        _send(connection, buffers[first : first + ONE_CALL], deadline)


def _send(connection: socket.socket, buffers: Sequence[bytes], deadline: float) -> None:
    """Some buffers in one call of the kernel, which waits by itself until they are sent.

    With a time-out of Python's there would be two calls for each little that fits, and after each of them this thread
    would have to get the interpreter back from one that polls. Linux counts SO_SNDTIMEO over the whole call.
    """
    left = [memoryview(buffer) for buffer in buffers if buffer]
    while left:
        microseconds = max(int((deadline - time.monotonic()) * 1e6), 1)
        patience = struct.pack("@ll", *divmod(microseconds, 1_000_000))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, patience)
        try:
            sent = connection.sendmsg(left)
        except BlockingIOError:
            raise TimeoutError("the answer was not taken in time") from None
        if deadline <= time.monotonic() and sent < sum(map(len, left)):
            raise TimeoutError("the answer was not taken in time")
        while left and sent >= len(left[0]):
            sent -= len(left.pop(0))
        if left:
            left[0] = left[0][sent:]


def batches(chunks: Sequence[bytes]) -> Iterator[bytes]:
    """The same bytes in fewer writes: small neighbours are put together, large chunks are passed on uncopied."""
    small: list[bytes] = []
    held = 0
    for chunk in chunks:
        if held + len(chunk) > ONE_WRITE and small:
            yield b"".join(small)
            small, held = [], 0
        if len(chunk) > ONE_WRITE:
            yield chunk
        else:
            small.append(chunk)
            held += len(chunk)
    if small:
        yield b"".join(small)
