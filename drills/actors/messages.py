"""The message of one event: JSON that names its run, its case and itself, the same bytes for the same event."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SENTINEL = "sentinel-"  # IDs that begin so prove a drain; they are no events and in no account


@dataclass(frozen=True, slots=True)
class Message:
    """An event to publish. `amount`: what it adds; `salt`: drawn from the run's seed, so that runs differ in bytes."""

    event_id: str
    amount: int = 1
    salt: str = ""

    def body(self, run: str, case: str) -> bytes:
        """Its bytes."""
        fields = {"run": run, "case": case, "event_id": self.event_id, "amount": self.amount, "salt": self.salt}
        return json.dumps(fields, sort_keys=True).encode()


def read(body: bytes) -> Mapping[str, Any]:
    """The fields of a message. Raises ValueError when the bytes are no message."""
    found = json.loads(body)
    if not isinstance(found, dict) or not all(isinstance(found.get(name), str) for name in ("run", "case", "event_id")):
        raise ValueError("not an object with run, case and event_id")
    if not isinstance(found.get("amount"), int):
        raise ValueError("no whole amount")
    return found


def account_id(fields: Mapping[str, Any], run: str, case: str) -> str:
    """The ID under which an event is counted: of another run or case, it is counted as a stranger."""
    event: str = fields["event_id"]
    return event if (fields["run"], fields["case"]) == (run, case) else f"{fields['run']}/{fields['case']}/{event}"


def is_sentinel(event_id: str) -> bool:
    """Whether it only proves a drain."""
    return event_id.startswith(SENTINEL)
