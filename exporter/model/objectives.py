"""What is meant to be: limits by pattern of names, from the configuration, with defaults where it says nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

TIER = 2  # of what nobody has named: worth a ticket, and no call at night
LAG_SECONDS, LAG_FLOOR, DLQ, BACKLOG, UNACKNOWLEDGED = (
    "lag_seconds", "lag_floor_offsets", "unhandled_messages", "backlog_messages", "unacknowledged_messages",
)  # fmt: skip
DEFAULTS: Mapping[str, float] = {
    LAG_SECONDS: 300.0, LAG_FLOOR: 100, DLQ: 1, BACKLOG: 10_000, UNACKNOWLEDGED: 1_000,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rule:
    """One entry of the configuration. It is about what matches all its patterns, in their order, as a whole."""

    patterns: tuple[re.Pattern[str], ...]
    owner: str | None = None
    tier: int | None = None
    limits: Mapping[str, float] = field(default_factory=dict)

    def is_about(self, names: Sequence[str]) -> bool:
        """Whether all names match."""
        return all(pattern.fullmatch(name) for pattern, name in zip(self.patterns, names, strict=True))


@dataclass(frozen=True, slots=True)
class Objective:
    """What holds for one thing. `limits`: each of DEFAULTS, its own or the default."""

    owner: str
    tier: str
    limits: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Objectives:
    """The entries in the order of the file: lag by (group, topic), dead letters by (vhost, dlq), by (vhost, queue)."""

    lag: tuple[Rule, ...] = ()
    dead_letters: tuple[Rule, ...] = ()
    queues: tuple[Rule, ...] = ()


NOTHING_SAID = Objective("", str(TIER), DEFAULTS)


def resolve(rules: Iterable[Rule], names: Sequence[str]) -> Objective:
    """Of the entries that are about it the first one that says something of owner, tier or a limit wins, for each."""
    about = [rule for rule in rules if rule.is_about(names)]
    if not about:
        return NOTHING_SAID
    owners = [rule.owner for rule in about if rule.owner is not None]
    tiers = [rule.tier for rule in about if rule.tier is not None]
    limits = dict(DEFAULTS)
    for rule in reversed(about):
        limits.update(rule.limits)
    return Objective(owners[0] if owners else "", str(tiers[0] if tiers else TIER), limits)
