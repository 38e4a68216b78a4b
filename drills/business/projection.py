"""A projection of the effects: what each account has, in each currency; two that are alike have one hash."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any


def projection(fields: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """`accounts`: account -> currency -> events and minor units; `hash`: SHA-256 of it in its canonical form."""
    accounts: dict[str, dict[str, list[int]]] = {}
    for event in fields:
        kept = accounts.setdefault(event["accountId"], {}).setdefault(event.get("currency", ""), [0, 0])
        kept[0] += 1
        kept[1] += event["amountMinor"]
    told = json.dumps(accounts, sort_keys=True, separators=(",", ":")).encode()
    return {"accounts": accounts, "hash": sha256(told).hexdigest()}
