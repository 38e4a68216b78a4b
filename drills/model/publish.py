"""What became of one publish attempt."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """The outcome of one attempt to publish. An attempt that still is PENDING when it is judged is unknown."""

    PENDING = "pending"  # written before the send; no answer was written since
    CONFIRMED = "confirmed"
    RETURNED = "returned"  # mandatory and unroutable; the confirm that follows does not make it routed
    NACKED = "nacked"  # the broker gave up; the message may be there all the same
    UNKNOWN = "unknown"  # no answer before the deadline, or the connection was lost with the answer open

    @property
    def is_unknown(self) -> bool:
        """Whether the message may, and may not, be there."""
        return self in (Outcome.PENDING, Outcome.NACKED, Outcome.UNKNOWN)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt to publish one event. `number` counts from 1."""

    event_id: str
    number: int
    outcome: Outcome


def to_retry(attempts: Iterable[Attempt]) -> set[str]:
    """The events that may, and may not, be there: no attempt settled them for certain."""
    outcomes: dict[str, set[Outcome]] = {}
    for attempt in attempts:
        outcomes.setdefault(attempt.event_id, set()).add(attempt.outcome)
    certain = {Outcome.CONFIRMED, Outcome.RETURNED}
    return {event for event, seen in outcomes.items() if not seen & certain and any(one.is_unknown for one in seen)}
