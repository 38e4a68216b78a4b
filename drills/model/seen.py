"""All that a criterion may look at: what one run stored, and nothing that is live."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from drills.reconcile import Reconciliation


@dataclass(frozen=True)
class Change:
    """A change that the run made to the world. `bite`: the proof that it took effect; None: there is none."""

    kind: str
    arguments: Mapping[str, Any]
    is_fault: bool
    bite: Any | None
    undone: bool


@dataclass(frozen=True)
class Hook:
    """A worker that stood at a hook. `released`: whether it went on; else it was killed there."""

    worker: str
    hook: str
    event_id: str
    released: bool


@dataclass(frozen=True)
class CaseSeen:
    """What was stored of one case. `facts`: name -> JSON value, as the case's code wrote it."""

    finished: bool  # all its phases ran to their end
    facts: Mapping[str, Any] = field(default_factory=dict)
    changes: Sequence[Change] = ()
    hooks: Sequence[Hook] = ()
    reconciliation: Reconciliation | None = None


@dataclass(frozen=True)
class Seen:
    """What was stored of a run: its parameters (counts, quick) and its cases by name."""

    parameters: Mapping[str, Any]
    cases: Mapping[str, CaseSeen]
