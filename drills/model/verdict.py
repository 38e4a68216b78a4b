"""What a criterion is judged to be, and what a run's exit code says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any


class Verdict(StrEnum):
    """Only PASS means that something was proven."""

    PASS = "PASS"  # noqa: S105 - not a password
    FAIL = "FAIL"
    UNKNOWN = "UNKNOWN"  # the fault did not bite, the drain is not proven, a read or the checker failed
    BLOCKED = "BLOCKED"  # this client or broker does not offer what the criterion needs
    NOT_RUN = "NOT RUN"  # the run ended before it


@dataclass(frozen=True, slots=True)
class Judgement:
    """One criterion's verdict, why in one sentence, the event IDs that it names, and the evidence it was judged on."""

    verdict: Verdict
    because: str
    ids: tuple[str, ...] = ()
    evidence: Mapping[str, Any] = field(default_factory=dict)


class Exit(IntEnum):
    """Exit codes of `mq-drill`. ROLLBACK_FAILED is added to a verdict and never hides it."""

    PASS = 0
    FAIL = 1
    USAGE = 2
    REFUSED = 3  # by a guard, or preflight was not met
    INCONCLUSIVE = 4
    ABORTED = 5  # by a watchdog or a stop condition, and rolled back
    ROLLBACK_FAILED = 6  # a person is needed


def exit_of(verdicts: Iterable[Verdict]) -> Exit:
    """The exit code of a run that ran to its end: a failure before what is unknown, what is unknown before a pass."""
    seen = set(verdicts)
    if Verdict.FAIL in seen:
        return Exit.FAIL
    return Exit.PASS if seen == {Verdict.PASS} else Exit.INCONCLUSIVE
