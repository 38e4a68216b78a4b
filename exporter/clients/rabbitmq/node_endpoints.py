"""The Prometheus endpoint of each node: discovered from the listeners, asked side by side, told apart by identity."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit

from exporter.clients.rabbitmq.failures import Failure, RequestError
from exporter.clients.rabbitmq.http import Client, address_of
from exporter.config.model import RabbitMQ
from exporter.model.common import Kind
from exporter.model.rabbitmq_node_pages import identity

FAMILIES = ("queue_coarse_metrics", "queue_consumer_count")
ANYWHERE = frozenset({"", "::", "0.0.0.0"})  # noqa: S104 - compared with, not bound to
GRACE = 0.5  # seconds in which a request that has passed its deadline may end, and give what it has
SCHEMES = {"http/prometheus": "http", "https/prometheus": "https"}


@dataclass(frozen=True, slots=True)
class Pages:
    """One node's own word. `url` is the one that gave it."""

    url: str
    plain: str
    detailed: str | None  # None: the version has no such page, or it did not come
    clock_offset: float | None
    lack: Failure | None = None  # why the detailed page did not come where there is one


@dataclass(slots=True)
class Asked:
    """A request to a node that may still be running."""

    future: Future[Pages]
    urls: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Collected:
    """What all nodes said. A node is in one of the two."""

    pages: Mapping[str, Pages] = field(default_factory=dict)
    failures: Mapping[str, Failure] = field(default_factory=dict)


def discover(listeners: Iterable[Any], overrides: Mapping[str, str], here: tuple[str, str]) -> dict[str, list[str]]:
    """Node -> URLs to try, from `/api/overview`. `here`: the node that answered and the management URL it answered at.

    A listener on every address is looked for at the host of the node's name; on the node that answered, also at the
    host by which it was reached.
    """
    found: dict[str, list[str]] = {}
    for listener in listeners:
        scheme = SCHEMES.get(str(listener.get("protocol"))) if isinstance(listener, dict) else None
        node, port = (str(listener.get("node")), listener.get("port")) if scheme else ("", None)
        if scheme is None or not isinstance(port, int):
            continue
        options = listener.get("socket_opts")
        bound = str(options.get("ip", "")) if isinstance(options, dict) else ""
        bound = bound if bound not in ANYWHERE else str(listener.get("ip_address", ""))
        hosts = [bound] if bound not in ANYWHERE else [node.rpartition("@")[2]]
        if bound in ANYWHERE and node == here[0]:
            hosts.append(urlsplit(here[1]).hostname or "")
        urls = [f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}" for host in hosts if host]
        if urls:
            found.setdefault(node, []).extend(url for url in urls if url not in found.get(node, []))
    return found | {node: [url.rstrip("/").removesuffix("/metrics")] for node, url in overrides.items()}


class NodeEndpoints:
    """Keeps one connection to each node. A poll calls `begin`, `start` when URLs are known, and `collect`."""

    def __init__(self, config: RabbitMQ, pool: ThreadPoolExecutor) -> None:
        self.urls: dict[str, list[str]] = {
            node: [url.rstrip("/").removesuffix("/metrics")] for node, url in config.node_metrics_urls.items()
        }
        self._config = config
        self._pool = pool
        self._clients: dict[str, Client] = {}
        self._asked: dict[str, Asked] = {}
        self._by = 0.0

    def discovered(self, urls: Mapping[str, list[str]]) -> None:
        """Take the listeners of this poll; the URL that answered last stays first."""
        for node, candidates in urls.items():
            last = self.urls.get(node, [""])[0]
            self.urls[node] = sorted(candidates, key=lambda url, last=last: url != last)  # type: ignore[misc]
        for node in self.urls.keys() - urls.keys():
            del self.urls[node]

    def begin(self) -> None:
        """A new poll: an answer that came too late for the last one is not taken for one of this."""
        self._asked = {node: asked for node, asked in self._asked.items() if not asked.future.done()}

    def start(self, vhosts: tuple[str, ...] = ()) -> None:
        """Ask every node that is not being asked, all at once. `vhosts`: only these, when not empty."""
        query = [*(("family", family) for family in FAMILIES), *(("vhost", vhost) for vhost in vhosts)]
        for node, urls in self.urls.items():
            if node in self._asked:
                continue
            self._by = time.monotonic() + self._config.timeout
            client = self._clients.setdefault(node, Client(self._config))
            path = f"/metrics/detailed?{urlencode(query)}"
            future = self._pool.submit(_ask, client, node, tuple(urls), path, self._config.timeout, self._by)
            self._asked[node] = Asked(future, tuple(urls))

    def collect(self) -> Collected:
        """What came within the timeout. A node that is late is left to finish, and is not asked again before."""
        patience = max(self._by - time.monotonic(), 0) + GRACE
        wait([asked.future for asked in self._asked.values()], timeout=patience)
        pages, failures = {}, {}
        for node, asked in list(self._asked.items()):
            if not asked.future.done():
                what = f"no answer within {self._config.timeout:g} s; is the node frozen?"
                failures[node] = Failure(Kind.TIMEOUT, f"{address_of(asked.urls[0])}: {what}")
                continue
            del self._asked[node]
            try:
                pages[node] = asked.future.result()
            except RequestError as error:
                failures[node] = error.failure
            else:
                if node in self.urls:  # it may have left since it was asked
                    self.urls[node] = sorted(self.urls[node], key=lambda url, best=pages[node].url: url != best)  # type: ignore[misc]
        return Collected(pages, failures)

    def close(self) -> None:
        """Close every connection."""
        for client in self._clients.values():
            client.close()


def _ask(client: Client, node: str, urls: tuple[str, ...], detailed: str, patience: float, by: float) -> Pages:
    """The pages from the first URL that is this node. Raises RequestError with the last URL's failure."""
    failure = Failure(Kind.UNREACHABLE, f"no Prometheus listener of {node} is known")
    for url in urls:
        try:
            return _ask_at(client, node, url, detailed, patience, by)
        except RequestError as error:
            failure = error.failure
    raise RequestError(failure)


def _ask_at(client: Client, node: str, url: str, detailed: str, patience: float, by: float) -> Pages:
    login = False
    try:
        answer = client.get(url, "/metrics", login, patience, by)
    except RequestError as error:
        if error.failure.kind is not Kind.AUTHENTICATION:
            raise
        login = True
        answer = client.get(url, "/metrics", login, patience, by)
    plain = answer.body.decode("utf-8", "replace")
    answered = identity(plain)
    if answered != node:
        what = f"answered as {answered or 'no RabbitMQ node'}, not as {node}; set `node_metrics_urls` for it"
        raise RequestError(Failure(Kind.PROTOCOL, f"{address_of(url)}: {what}"))
    try:
        page = client.get(url, detailed, login, patience, by).body.decode("utf-8", "replace")
    except RequestError as error:
        # while a peer is frozen, 4.3 gives this page after ten seconds and the plain one at once
        lack = None if error.failure.kind is Kind.PROTOCOL else error.failure
        return Pages(url, plain, None, answer.clock_offset, lack)
    return Pages(url, plain, page, answer.clock_offset)
