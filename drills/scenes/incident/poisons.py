"""What no reader can read, between events that are valid: three of them, the same in every case."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from drills.actors import contract

IDS = ("poison-0001-001", "poison-0002-001", "poison-0003-001")
CLASSES = dict(zip(IDS, (contract.MALFORMED, contract.INVALID, contract.UNSUPPORTED), strict=True))


def body(event_id: str, run: str, case: str) -> bytes:
    """Bytes that do not parse, an amount in words, a version of the schema that nobody supports yet."""
    fields: dict[str, Any] = {"run": run, "case": case, "event_id": event_id, "accountId": "poison-0001"}
    bodies = (
        b'\xff\xfe{"amountMinor": ',
        json.dumps({**fields, "schema_version": 1, "amountMinor": "one hundred"}, sort_keys=True).encode(),
        json.dumps({**fields, "schema_version": 99, "amountMinor": 100}, sort_keys=True).encode(),
    )
    return dict(zip(IDS, bodies, strict=True))[event_id]


def with_bytes(messages: Sequence[dict[str, Any]], run: str, case: str) -> list[dict[str, Any]]:
    """The messages, with the bytes of those that are poisons."""
    return [
        {**one, "raw": body(one["event_id"], run, case).hex()} if one["event_id"] in IDS else one for one in messages
    ]  # fmt: skip
