"""Requests and responses as values, so that the site can be tested without a socket."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus

TEXT = "text/plain; charset=utf-8"
HTML = "text/html; charset=utf-8"
JSON = "application/json"
PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked. Header names are in lower case."""

    method: str
    target: str
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]


@dataclass(frozen=True, slots=True)
class Response:
    """What to answer. `compressible`: may still be compressed on the way out."""

    chunks: Sequence[bytes]
    status: HTTPStatus = HTTPStatus.OK
    content_type: str = TEXT
    headers: Mapping[str, str] = field(default_factory=dict)
    compressible: bool = False


def text(body: str, status: HTTPStatus = HTTPStatus.OK, **headers: str) -> Response:
    """A short answer for people and scripts; `Allow="GET"` adds a header."""
    return Response([body.encode()], status, headers=headers)
