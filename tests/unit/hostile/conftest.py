"""No thread dies unseen in these tests, neither the exporter's nor the peers'."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _no_thread_dies() -> Iterator[None]:
    died: list[str] = []
    before, threading.excepthook = threading.excepthook, lambda args: died.append(repr(args.exc_value))
    yield
    threading.excepthook = before
    assert [] == died
