"""The message of one event: JSON that names its run, its case and itself, the same bytes for the same event.

Where a case has a contract of its own (drills/actors/contract.py), a worker is told which version it writes or reads.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from drills.actors import contract
from drills.actors.contract import Read, UnreadableError
from drills.actors.partitioner import account_of

SENTINEL = "sentinel-"  # IDs that begin so prove a drain; they are no events and in no account


@dataclass(frozen=True, slots=True)
class Message:
    """An event to publish. `amount`: what it adds; `salt`: drawn from the run's seed, so that runs differ in bytes.

    `raw`: bytes in hexadecimal that are sent as they are, such as what no reader can read.
    """

    event_id: str
    amount: int = 1
    salt: str = ""
    raw: str = ""

    def body(self, run: str, case: str, writer: int = 0) -> bytes:
        """Its bytes. `writer`: the version of the contract that is written; 0 where there is none."""
        if self.raw:
            return bytes.fromhex(self.raw)
        if writer:
            return contract.write(writer, self.event_id, account_of(self.event_id), self.amount, run, case)
        fields = {"run": run, "case": case, "event_id": self.event_id, "amount": self.amount, "salt": self.salt}
        return json.dumps(fields, sort_keys=True).encode()


def read(body: bytes) -> Read:
    """A message. Raises UnreadableError when the bytes are none."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise UnreadableError(contract.MALFORMED, str(error)) from None
    if not isinstance(found, dict) or not all(isinstance(found.get(name), str) for name in ("run", "case", "event_id")):
        raise UnreadableError(contract.INVALID, "not an object with run, case and event_id")
    if not isinstance(found.get("amount"), int):
        raise UnreadableError(contract.INVALID, "no whole amount")
    return Read(found["run"], found["case"], found["event_id"], found["amount"], None)


def account_id(named: tuple[str, str, str], run: str, case: str) -> str:
    """The ID under which an event of this run, case and ID is counted: of another one, it is counted as a stranger."""
    return named[2] if named[:2] == (run, case) else "/".join(named)


def is_sentinel(event_id: str) -> bool:
    """Whether it only proves a drain."""
    return event_id.startswith(SENTINEL)
