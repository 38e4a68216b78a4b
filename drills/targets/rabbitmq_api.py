"""RabbitMQ's management API, for the few things that a drill changes or must know before it does."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import requests

from drills.targets.target import RabbitAddresses, TargetError

SECONDS = 10.0  # for one answer


class Management:
    """Asks the nodes in turn until one answers; `only`: the names of those to be asked. May be used by one thread."""

    def __init__(self, addresses: RabbitAddresses, only: tuple[str, ...] | None = None) -> None:
        self._addresses = addresses
        self._urls = [addresses.node(name).url for name in only] if only else addresses.urls

    def get(self, path: str) -> Any | None:
        """The JSON at `/api/PATH`; None when that does not exist. Raises TargetError."""
        answer = self._ask("GET", path)
        return None if answer.status_code == 404 else self._good(answer).json()

    def put(self, path: str, body: object) -> None:
        """Puts JSON to `/api/PATH`. Raises TargetError."""
        self._good(self._ask("PUT", path, body))

    def delete(self, path: str) -> None:
        """Deletes `/api/PATH`; nothing when it does not exist. Raises TargetError."""
        answer = self._ask("DELETE", path)
        if answer.status_code != 404:
            self._good(answer)

    def check(self, name: str) -> str | None:
        """What the health check `name` objects to; None when it passes. Raises TargetError when it can't be asked."""
        answer = self._ask("GET", f"health/checks/{name}")
        if answer.status_code == 503:
            return str(answer.json().get("reason") or answer.text)
        self._good(answer)
        return None

    def _ask(self, method: str, path: str, body: object = None) -> requests.Response:
        problems = []
        for url in self._urls:
            try:
                with requests.Session() as session:
                    session.trust_env = False  # it may name a proxy, or other certificates to trust
                    session.auth = (self._addresses.user, self._addresses.password)
                    session.verify = self._addresses.ca_file or True
                    return session.request(method, f"{url}/api/{path}", json=body, timeout=SECONDS)
            except requests.RequestException as error:
                problems.append(f"{url}: {type(error).__name__}")
        raise TargetError(f"no RabbitMQ node answers {method} /api/{path} ({'; '.join(problems)})")

    @staticmethod
    def _good(answer: requests.Response) -> requests.Response:
        if not answer.ok:
            asked = f"{answer.request.method} {answer.request.path_url}"
            raise TargetError(f"RabbitMQ answered {answer.status_code} to {asked}: {answer.text[:300]}")
        return answer


def quoted(name: str) -> str:
    """A name as a part of a path."""
    return quote(name, safe="")
