"""The sets of IDs of a run: what was sent, what came, what was done with it, and the classes of the reconciliation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace

from drills.model.publish import Outcome
from drills.reconcile import Account, Reconciliation, reconcile

CLASSES = tuple(one.name for one in fields(Reconciliation) if one.name not in ("undrained", "located"))


def sets(account: Account, *, effects_known: bool) -> dict[str, tuple[str, ...]]:
    """Name of the set -> IDs, sorted. An ID whose attempts had different outcomes is in each of these sets.

    Without effects that were read there is no set of them, and no class: an empty one would claim something.
    """
    attempts = list(account.attempts)
    found: dict[str, Iterable[str]] = {"attempted": {one.event_id for one in attempts}}
    for outcome in Outcome:
        found[outcome.value] = {one.event_id for one in attempts if one.outcome is outcome}
    found["delivered"] = {event for event, times in account.deliveries.items() if times}
    if effects_known:
        found["effects"] = {event for event, times in account.effects.items() if times}
        found |= {name: getattr(account, name) for name in ("quarantined", "dead_letters", "retry_decisions")}
        result = reconcile(replace(account, attempts=attempts))
        found |= {name: getattr(result, name) for name in CLASSES}
    return {name: tuple(sorted(events)) for name, events in found.items()}


def lines(name: str, events: Iterable[str], located: Mapping[str, str]) -> str:
    """A set as a file: one ID a line, a lost one with the last place it was seen. Line breaks in an ID are escaped."""
    places = located if name == "lost" else {}
    return "".join(f"{_one_line(event)}{_place(places, event)}\n" for event in events)


def _place(places: Mapping[str, str], event: str) -> str:
    return f"\t{_one_line(places[event])}" if event in places else ""


def _one_line(text: str) -> str:
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)
