"""The events' contract: JSON in two versions, and two readers of them, each of which takes both.

v1 has `event_id`, `accountId`, `amountMinor`; v2 adds `currency`. Reader 1 ignores fields that it does not know;
reader 2 takes VND where there is no currency. Readers get raw bytes, and say of what they can't read why they can't.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from typing import Annotated, Any

import pydantic_core
from pydantic import BaseModel, ConfigDict, Field, ValidationError

SUPPORTED = (1, 2)  # schema versions that both readers take
CURRENCY = "VND"
MOST = 10**15  # beyond it a total would not fit into the database, and a consumer would stop at the same event for ever
MALFORMED, INVALID, UNSUPPORTED = "malformed", "invalid", "unsupported_version"
NO_DEFAULT = "no_default"  # named wrong readers, for the proof of the drill: the currency must be there
STRICT = "strict"  # unknown fields are refused

Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]


class UnreadableError(ValueError):
    """Bytes that are no event. `error_class`: MALFORMED, INVALID or UNSUPPORTED; `fingerprint`: the reader's.

    `named`: run, case and ID, where the bytes have them all the same; else it is known by its place alone.
    """

    def __init__(
        self, error_class: str, reason: str, fingerprint: str = "", named: tuple[str, str, str] | None = None
    ) -> None:
        super().__init__(f"{error_class}: {reason}")
        self.error_class, self.reason, self.fingerprint, self.named = error_class, reason, fingerprint, named


class V1(BaseModel):
    """The fields of version 1, and the case that an event belongs to, which is no business of the contract's."""

    model_config = ConfigDict(extra="ignore", strict=True)

    run: Name
    case: Name
    event_id: Name
    account_id: Annotated[Name, Field(alias="accountId")]
    amount_minor: Annotated[int, Field(alias="amountMinor", ge=0, le=MOST)]


class V2(V1):
    """Version 2."""

    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")] = CURRENCY


class V2WithoutDefault(V1):
    """A wrong reader of version 2: it can't read version 1."""

    currency: str


class V1Strict(V1):
    """A wrong reader of version 1: it can't read version 2."""

    model_config = ConfigDict(extra="forbid", strict=True)

    schema_version: int = 1


READERS: dict[int, type[V1]] = {1: V1, 2: V2}
WRONG: dict[tuple[int, str], type[V1]] = {(1, STRICT): V1Strict, (2, NO_DEFAULT): V2WithoutDefault}


@dataclass(frozen=True, slots=True)
class Read:
    """An event as a reader understood it. `fields`: those of the contract after decoding; None where there is none."""

    run: str
    case: str
    event_id: str
    amount: int
    fields: dict[str, Any] | None


def write(version: int, event_id: str, account: str, amount: int, run: str, case: str) -> bytes:
    """The bytes of an event as writer 1 or 2 makes them: the same for the same event."""
    fields = {"schema_version": version, "event_id": event_id, "accountId": account, "amountMinor": amount}
    more = {"currency": CURRENCY} if version >= 2 else {}
    return json.dumps({**fields, **more, "run": run, "case": case}, sort_keys=True).encode()


def read(body: bytes, version: int, wrong: str | None = None) -> Read:
    """The event as reader 1 or 2 understands it. Raises UnreadableError, whatever the bytes are."""
    reader = WRONG.get((version, wrong or ""), READERS[version])
    mark = fingerprint(version)
    try:
        found = pydantic_core.from_json(body)  # bounded: a thousand nested brackets are an error, not the end
    except ValueError as error:
        raise UnreadableError(MALFORMED, str(error), mark) from None
    if not isinstance(found, dict):
        raise UnreadableError(MALFORMED, f"not an object but {type(found).__name__}", mark)
    written = found.get("schema_version", 1)
    if written not in SUPPORTED or isinstance(written, bool):
        why = f"schema_version {str(written)[:50]} is none of {SUPPORTED}"
        raise UnreadableError(UNSUPPORTED, why, mark, _named(found))
    try:
        event = reader.model_validate(found)
    except ValidationError as error:
        told = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors(include_input=False))
        raise UnreadableError(INVALID, told[:500], mark, _named(found)) from None
    fields = event.model_dump(by_alias=True, exclude={"run", "case", "schema_version"})
    return Read(event.run, event.case, event.event_id, event.amount_minor, fields)


class _Name(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    run: Name
    case: Name
    event_id: Name


def _named(found: dict[str, Any]) -> tuple[str, str, str] | None:
    try:
        name = _Name.model_validate(found)
    except ValidationError:
        return None
    return name.run, name.case, name.event_id


@cache
def fingerprint(version: int) -> str:
    """SHA-256 of the reader's JSON Schema in its canonical form, in hexadecimal."""
    schema = READERS[version].model_json_schema(by_alias=True)
    return sha256(json.dumps(schema, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
