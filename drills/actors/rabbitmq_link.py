"""One connection and channel to RabbitMQ with an I/O thread of its own, so that heartbeats go on while work is held."""

from __future__ import annotations

import ssl
import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

import pika
from pika.adapters.select_connection import IOLoop, SelectConnection

OPEN = 30.0  # seconds until connection and channel must be open
HEARTBEAT = 20  # seconds


class LinkError(Exception):
    """No connection or channel in time, or it was lost."""


class Link:
    """pika's SelectConnection in a thread. A lost one stays lost: an old delivery tag means nothing on a new channel.

    Callbacks run in that thread. `lost` is called once, with the reason, when the channel closes by itself.
    """

    def __init__(
        self,
        options: Mapping[str, Any],
        lost: Callable[[str], None],
        blocked: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Options: `amqp` (URLs without a vhost, tried in their order), `vhost`, `ca_file` (for amqps).

        `blocked`: the broker says that it reads no more of this connection for now, and why.
        """
        self._configs = [_parameters(url, options) for url in options["amqp"]]
        self._lost, self._blocked = lost, blocked
        self._opened = threading.Event()
        self._failure: str | None = None
        self._closing = False
        self._ended = False
        self._lock = threading.Lock()
        self._calls: deque[_Call] = deque()
        self._loop: Any = None
        self.connection: Any = None
        self.channel: Any = None
        self._thread = threading.Thread(target=self._run, daemon=True, name="amqp")

    def open(self, seconds: float = OPEN) -> None:
        """Returns when the channel is open. Raises LinkError."""
        self._thread.start()
        if not self._opened.wait(seconds) or self._failure is not None:
            raise LinkError(self._failure or f"no channel within {seconds:.0f} s")

    def call(self, function: Callable[[], Any], seconds: float = OPEN) -> Any:
        """Runs the function in the I/O thread and gives what it gives. Raises what it raises, or LinkError."""
        call = _Call(function)
        with self._lock:
            if self._ended:
                raise LinkError(self._failure or "the connection is closed")
            self._calls.append(call)
        self._loop.add_callback_threadsafe(self._run_next)
        return call.result(seconds)

    def _run_next(self) -> None:
        with self._lock:
            call = self._calls.popleft() if self._calls else None
        if call is not None:
            call.run()

    def close(self, seconds: float = 10.0) -> None:
        """Closes channel and connection cleanly, so that all that was acked is known to the broker."""
        self._closing = True
        if self.connection is not None and self._thread.is_alive():
            self._loop.add_callback_threadsafe(self._close_connection)
            self._thread.join(seconds)

    def _close_connection(self) -> None:
        if self.connection.is_closed or self.connection.is_closing:
            self._loop.stop()
        else:
            self.connection.close()

    def _run(self) -> None:
        self._loop = IOLoop()
        SelectConnection.create_connection(self._configs, on_done=self._connected, custom_ioloop=self._loop)
        self._loop.start()
        with self._lock:
            self._ended = True
            left, self._calls = list(self._calls), deque()
        for call in left:
            call.give_up(self._failure or "the connection was closed")

    def _connected(self, made: Any) -> None:
        if isinstance(made, BaseException):
            self._fail(f"no connection: {made!r}")
            self._loop.stop()
            return
        self.connection = made
        made.add_on_close_callback(self._connection_closed)
        made.add_on_connection_blocked_callback(lambda _connection, frame: self._blocked(frame.method.reason))
        made.channel(on_open_callback=self._channel_open)

    def _channel_open(self, channel: Any) -> None:
        self.channel = channel
        channel.add_on_close_callback(self._channel_closed)
        self._opened.set()

    def _channel_closed(self, _channel: Any, reason: Any) -> None:
        if not self._closing:
            self._fail(f"channel closed: {reason!r}")

    def _connection_closed(self, _connection: Any, reason: Any) -> None:
        if not self._closing:
            self._fail(f"connection closed: {reason!r}")
        self._loop.stop()

    def _fail(self, reason: str) -> None:
        first, self._failure = self._failure is None, self._failure or reason
        was_open = self._opened.is_set()
        self._opened.set()
        if first and was_open:
            self._lost(reason)


class _Call:
    """A function for the I/O thread, and what became of it."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function = function
        self._done = threading.Event()
        self._value: Any = None
        self._error: Exception | None = None

    def run(self) -> None:
        try:
            self._value = self._function()
        except Exception as error:  # noqa: BLE001 - it belongs to the caller's thread
            self._error = error
        self._done.set()

    def give_up(self, reason: str) -> None:
        self._error = LinkError(reason)
        self._done.set()

    def result(self, seconds: float) -> Any:
        if not self._done.wait(seconds):
            raise LinkError(f"the I/O thread did not answer within {seconds:.0f} s")
        if self._error is not None:
            raise self._error
        return self._value


def _parameters(url: str, options: Mapping[str, Any]) -> Any:
    """Parameters of one URL such as amqp://user:password@host:port."""
    made = pika.URLParameters(f"{url.rstrip('/')}/{quote(options['vhost'], safe='')}")
    made.heartbeat, made.socket_timeout, made.stack_timeout, made.connection_attempts = HEARTBEAT, 5.0, 10.0, 1
    if options.get("ca_file"):
        made.ssl_options = pika.SSLOptions(ssl.create_default_context(cafile=options["ca_file"]), made.host)
    return made
