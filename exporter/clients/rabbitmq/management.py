"""The management API of a cluster, by whichever of the configured URLs answers."""

from __future__ import annotations

import time
from typing import Any

from exporter.clients.rabbitmq.failures import Failure, RequestError, decoded, not_json
from exporter.clients.rabbitmq.http import Answer, Client, address_of
from exporter.config.model import RabbitMQ
from exporter.model.common import Kind

ELSEWHERE = frozenset({Kind.UNREACHABLE, Kind.TIMEOUT, Kind.TLS, Kind.PROTOCOL})  # another node may do better
TIMEOUTS = 2  # in one poll; a frozen node makes its peers' management hang, so asking all of them would only cost time


class Management:
    """Asks the URL that answered last, then the others in turn. Used by one thread at a time."""

    def __init__(self, config: RabbitMQ) -> None:
        self.answered: dict[str, bool] = {}  # URL -> whether it answered in this poll
        self._config = config
        self._clients = {url: Client(config) for url in config.urls}
        self._current = config.urls[0]
        self._failed: dict[str, Failure] = {}
        self._timeouts_left = TIMEOUTS
        self._hung = False

    def begin(self) -> None:
        """A new poll. After one in which everything hung, one URL is tried and not all."""
        if self._hung:
            self._current = self._next_after(self._current)
        self._timeouts_left = 1 if self._hung else TIMEOUTS
        self._hung = False
        self._failed.clear()
        self.answered = {}

    def _next_after(self, url: str) -> str:
        urls = self._config.urls
        return urls[(urls.index(url) + 1) % len(urls)]

    @property
    def url(self) -> str:
        """The URL that is asked first now."""
        return self._current

    @property
    def idle_urls(self) -> list[str]:
        """Those that this poll has no need to ask."""
        return [url for url in self._config.urls if url != self._current]

    def get(self, path: str, more_patience: float = 0.0) -> Any:
        """The JSON that GET /api/PATH gives. `more_patience`: seconds that this answer may take beyond the timeout.

        Raises RequestError, with the failure of the last URL that was tried.
        """
        for url in [self._current, *self.idle_urls]:
            if url in self._failed:
                continue
            if self._timeouts_left <= 0:
                break
            try:
                found = self._ask(url, f"/api/{path}", self._config.timeout + more_patience)
            except RequestError as error:
                self._note(url, error.failure, path)
                if url not in self._failed:
                    raise
                continue
            self._current = url
            return found
        self._hung = self._timeouts_left <= 0
        raise RequestError(next(reversed(self._failed.values())))

    def _ask(self, url: str, path: str, patience: float) -> Any:
        answer: Answer = self._clients[url].get(url, path, True, patience, time.monotonic() + patience)
        self.answered[url] = True
        try:
            return decoded(answer.body)
        except ValueError:
            raise RequestError(not_json(answer.body, address_of(url), path.partition("?")[0])) from None

    def _note(self, url: str, failure: Failure, path: str) -> None:
        """Remember a URL that is of no use in this poll. A refusal, or one path that is not there, is no such thing."""
        unreachable = failure.kind in {Kind.UNREACHABLE, Kind.TIMEOUT, Kind.TLS}
        self.answered[url] = not unreachable
        if failure.kind in ELSEWHERE and (unreachable or path.startswith("overview")):
            self._failed[url] = failure
        if failure.kind is Kind.TIMEOUT:
            self._timeouts_left -= 1

    def close(self) -> None:
        """Close every connection."""
        for client in self._clients.values():
            client.close()


def items(answer: Any) -> list[Any]:
    """The items of a listing, paged or not. Raises RequestError when it is none."""
    found = answer.get("items") if isinstance(answer, dict) else answer
    if not isinstance(found, list):
        raise RequestError(Failure(Kind.PROTOCOL, "the management API did not answer with a list"))
    return found
