"""Addresses that failed and that no request goes to any more: seeds that were dead at the start, and fenced brokers.

Metadata does not name a fenced broker, and a seed is not needed once brokers are known. That their address does not
answer stays worth knowing, so each is tried once a poll in a thread of its own, which no poll waits for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping

from exporter.clients.kafka.address import Address
from exporter.clients.kafka.failures import UnusableError


class LostAddresses:
    """`attempt` opens a connection to an address and closes it, or raises UnusableError, OSError or ValueError."""

    def __init__(self, attempt: Callable[[Address], None]) -> None:
        self._attempt = attempt
        self._lock = threading.Lock()
        self._answers: dict[Address, bool] = {}
        self._lost: frozenset[Address] = frozenset()
        self._trying: set[Address] = set()

    def watch(self, lost: Collection[Address], tried: Mapping[Address, bool], others: Collection[Address]) -> None:
        """Try each of the lost ones, unless it is being tried. `tried` is what the poll itself has found out.

        What is known of `others` is kept, so that one that is lost later begins with what was last seen.
        """
        with self._lock:
            self._lost = frozenset(lost)
            kept = {**self._answers, **tried}
            self._answers = {address: up for address, up in kept.items() if address in lost or address in others}
            missing = self._lost - self._trying
            self._trying |= missing
        for address in missing:
            threading.Thread(target=self._try, args=(address,), daemon=True).start()

    def endpoints(self) -> dict[Address, bool]:
        """Whether each answered when it was last tried; one that was never tried is left out."""
        with self._lock:
            return {address: up for address, up in self._answers.items() if address in self._lost}

    def _try(self, address: Address) -> None:
        try:
            self._attempt(address)
            answered = True
        except (UnusableError, OSError, ValueError):
            answered = False
        with self._lock:
            self._trying.discard(address)
            if address in self._lost:
                self._answers[address] = answered
