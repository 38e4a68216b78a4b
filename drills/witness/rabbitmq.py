"""RabbitMQ's management API as a witness: queues, their members, nodes. Any node that answers is asked."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import quote

import requests

TIMEOUT = 5.0  # seconds for one answer: the API hangs while a peer is frozen


class WitnessError(Exception):
    """A witness could not be read: what it would have said is unknown."""


@dataclass(frozen=True)
class QueueReading:
    """What the API says of one queue. Counts are None where it names none, which is not 0; `at`: monotonic seconds."""

    at: float
    leader: str | None
    members: Sequence[str]
    online: Sequence[str]
    messages: int | None
    ready: int | None
    unacked: int | None
    consumers: int | None

    @property
    def has_majority(self) -> bool:
        """Whether more than half of its members are online."""
        return len(self.online) * 2 > len(self.members) > 0

    def json(self) -> dict[str, Any]:
        """The same, as a fact of the ledger."""
        return asdict(self)


class RabbitWitness:
    """The management API of a cluster. `urls`: without login, in the order in which they are tried."""

    def __init__(self, urls: Sequence[str], user: str, password: str, ca_file: str | None = None) -> None:
        self.urls = list(urls)
        self._login = (user, password)
        self._trusted: str | bool = ca_file or True

    def queue(self, vhost: str, name: str) -> QueueReading | None:
        """What it says of a queue; None when it says that there is none. Raises WitnessError.

        After a restart a node may know the queue and not its counts, for minutes (3.10): then another one is asked.
        """
        found = self.get(f"/api/queues/{quote(vhost, safe='')}/{quote(name, safe='')}", has_counts)
        return None if found is None else read_queue(found, time.monotonic())

    def running(self) -> dict[str, bool]:
        """Node -> whether it runs, in the eyes of the node that answers. Raises WitnessError."""
        return {node["name"]: node["running"] for node in self.get("/api/nodes?columns=name,running") or ()}

    def overview(self) -> Mapping[str, Any]:
        """Versions and names of the cluster. Raises WitnessError."""
        found: Mapping[str, Any] = self.get("/api/overview") or {}
        return found

    def get(self, path: str, is_whole: Callable[[Any], bool] = lambda _: True) -> Any:
        """The JSON of a path from the first node whose answer is whole, else from the last that answers; None for 404.

        Raises WitnessError when none answers.
        """
        failures, partial = [], []
        for url in self.urls:
            try:
                with requests.Session() as session:
                    session.trust_env = False
                    answer = session.get(url + path, auth=self._login, timeout=TIMEOUT, verify=self._trusted)
                if answer.status_code == 404:
                    return None
                answer.raise_for_status()
                found = answer.json()
                if is_whole(found):
                    return found
                partial.append(found)
            except (requests.RequestException, ValueError) as error:
                failures.append(f"{url}: {type(error).__name__}")
        if partial:
            return partial[-1]
        raise WitnessError(f"no node's management API gave {path} ({'; '.join(failures)})")


def has_counts(found: Mapping[str, Any]) -> bool:
    """Whether an answer about a queue says how many messages it has."""
    return isinstance(found.get("messages"), int)


def read_queue(found: Mapping[str, Any], at: float) -> QueueReading:
    """A queue as `/api/queues/VHOST/NAME` tells it; before 3.13 a quorum queue has `leader`, then only `node`."""
    leader = found.get("leader") or found.get("node")
    members, online = (tuple(sorted(found.get(name) or ())) for name in ("members", "online"))
    counts = [found.get(name) for name in ("messages", "messages_ready", "messages_unacknowledged", "consumers")]
    whole = [count if isinstance(count, int) else None for count in counts]
    return QueueReading(at, leader or None, members, online, *whole)
