"""What went wrong, as a kind and one line for a tired person."""

from __future__ import annotations

from dataclasses import dataclass

from exporter.model.common import Kind


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a request had no answer. `detail` is one line: what was tried, what came back, what to do. Never a secret."""

    kind: Kind
    detail: str
    closed: bool = False  # the connection ended before an answer: worth one try on a new connection


class UnusableError(Exception):
    """A connection that can't be used; carries the Failure."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.detail)
        self.failure = failure
