"""Finds the subjects by walking the package; a broken or contradictory one fails loudly at start."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from exporter import metrics
from exporter.metrics.family import Family, Measured

NOT_SUBJECTS = frozenset({"family", "registry"})


@dataclass(frozen=True, slots=True)
class Subject:
    """One file of this package."""

    name: str
    systems: frozenset[str]
    families: tuple[Family, ...]
    measure: Callable[[Any], Measured]


@cache
def subjects() -> tuple[Subject, ...]:
    """All subjects by name. Raises ValueError when two declare the same family."""
    found = []
    owner: dict[str, str] = {}
    for name in sorted(info.name for info in pkgutil.iter_modules(metrics.__path__) if info.name not in NOT_SUBJECTS):
        module = import_module(f"{metrics.__name__}.{name}")
        for family in module.FAMILIES:
            if owner.setdefault(family.name, name) != name:
                raise ValueError(f"{family.name} is declared in both {owner[family.name]} and {name}")
        found.append(Subject(name, frozenset(module.SYSTEMS), tuple(module.FAMILIES), module.measure))
    return tuple(found)


def measure(snapshot: Any) -> Measured:
    """Every family of every subject for the snapshot's system. Raises KeyError for a family that was not declared."""
    measured: Measured = {}
    for subject in subjects():
        if snapshot.system in subject.systems:
            result = subject.measure(snapshot)
            undeclared = set(result) - set(subject.families)
            if undeclared:
                raise KeyError(f"{subject.name} measures {undeclared} without declaring it")
            measured.update(result)
    return measured
