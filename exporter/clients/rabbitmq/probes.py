"""Whether the management URLs that a poll has no need to ask can be reached, so that a spare that is gone shows."""

from __future__ import annotations

import time
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait

from exporter.clients.rabbitmq.failures import RequestError
from exporter.clients.rabbitmq.http import Client
from exporter.config.model import RabbitMQ
from exporter.model.common import Kind


class Probes:
    """Asks `/api/whoami`, which a node answers from its own memory, even while a peer is frozen."""

    def __init__(self, config: RabbitMQ, pool: ThreadPoolExecutor) -> None:
        self._config = config
        self._pool = pool
        self._clients = {url: Client(config) for url in config.urls}
        self._running: dict[str, Future[bool]] = {}

    def start(self, urls: Iterable[str]) -> None:
        """Probe each of these, unless an earlier probe still runs."""
        for url in urls:
            if url not in self._running:
                self._running[url] = self._pool.submit(_answers, self._clients[url], url, self._config.timeout)

    def collect(self, by: float) -> dict[str, bool]:
        """URL -> whether it answered until then (monotonic)."""
        wait(self._running.values(), timeout=max(by - time.monotonic(), 0))
        found = {url: future.done() and future.result() for url, future in self._running.items()}
        self._running = {url: future for url, future in self._running.items() if not future.done()}
        return found

    def close(self) -> None:
        """Close every connection."""
        for client in self._clients.values():
            client.close()


def _answers(client: Client, url: str, timeout: float) -> bool:
    try:
        client.get(url, "/api/whoami", True, timeout, time.monotonic() + timeout)
    except RequestError as error:
        return error.failure.kind not in {Kind.UNREACHABLE, Kind.TIMEOUT, Kind.TLS}
    return True
