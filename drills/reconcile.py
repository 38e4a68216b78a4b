"""Reconciliation: what was published against what was done with it, as sets of IDs, never as counts alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field

from drills.model.drain import Drain
from drills.model.publish import Attempt, Outcome
from drills.model.verdict import Verdict


@dataclass(frozen=True)
class Account:
    """All that is known of the events of one case. Sentinels are not in it."""

    attempts: Iterable[Attempt]
    deliveries: Counter[str]  # ID -> times handed to a consumer
    effects: Counter[str]  # ID -> times the business effect was applied
    quarantined: Set[str] = frozenset()
    dead_letters: Set[str] = frozenset()  # in the known dead-letter queues
    retry_decisions: Set[str] = frozenset()  # unknown ones that were decided about: retried, or given up by name
    seen_at: Mapping[str, str] = field(default_factory=dict)  # ID -> the last place it was seen
    drain: Drain | None = None


@dataclass(frozen=True)
class Reconciliation:
    """The classes, each a sorted tuple of IDs. `undrained`: why lost and unresolved prove nothing; None: they do."""

    lost: tuple[str, ...]
    unexpected: tuple[str, ...]
    duplicate_delivery: tuple[str, ...]
    duplicate_effect: tuple[str, ...]
    recovered: tuple[str, ...]
    unresolved: tuple[str, ...]
    undrained: str | None
    located: Mapping[str, str]  # lost ID -> the last place it was seen

    @property
    def verdict(self) -> Verdict:
        """PASS only with a proven drain. What cannot be undone by draining on is a failure even without one."""
        if self.unexpected or self.duplicate_effect:
            return Verdict.FAIL
        if self.undrained is not None:
            return Verdict.UNKNOWN
        return Verdict.FAIL if self.lost or self.unresolved else Verdict.PASS

    def trouble(self) -> dict[str, tuple[str, ...]]:
        """The classes that must be empty and are not."""
        names = ("lost", "unexpected", "duplicate_effect", "unresolved")
        return {name: found for name in names if (found := getattr(self, name))}


def reconcile(account: Account) -> Reconciliation:
    """The classes of one case. An ID is confirmed when any of its attempts was."""
    outcomes: dict[str, set[Outcome]] = {}
    for attempt in account.attempts:
        outcomes.setdefault(attempt.event_id, set()).add(attempt.outcome)
    confirmed = {event for event, seen in outcomes.items() if Outcome.CONFIRMED in seen}
    unknown = {event for event, seen in outcomes.items() if any(one.is_unknown for one in seen)}
    applied = {event for event, times in account.effects.items() if times}
    settled = applied | account.quarantined | account.dead_letters
    lost = sorted(confirmed - settled)
    return Reconciliation(
        lost=tuple(lost),
        unexpected=_sorted((applied | account.quarantined) - outcomes.keys()),
        duplicate_delivery=_sorted(event for event, times in account.deliveries.items() if times > 1),
        duplicate_effect=_sorted(event for event, times in account.effects.items() if times > 1),
        recovered=_sorted(unknown & applied),
        unresolved=_sorted(unknown - confirmed - settled - account.retry_decisions),
        undrained="no drain was tried" if account.drain is None else account.drain.lack(),
        located={event: account.seen_at.get(event, "nowhere") for event in lost},
    )


def _sorted(events: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(events))
