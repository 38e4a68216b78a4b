"""The fixture's own partitioner, which is no client's default: the number at the end of the account, modulo P."""

from __future__ import annotations


def partition_of(account: str, partitions: int) -> int:
    """account-0003 is on 0 of 3 and on 3 of 6. Raises ValueError for a key without a number at its end."""
    digits = account[len(account.rstrip("0123456789")) :]
    if not digits:
        raise ValueError(f"the key {account!r} does not end in a number")
    return int(digits) % partitions


def account_of(event_id: str) -> str:
    """The account of an event such as account-0003-031."""
    return event_id.rpartition("-")[0]
