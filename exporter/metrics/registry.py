"""Finds the subjects by walking the package; a broken or contradictory one fails loudly at start."""

from __future__ import annotations

import logging
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from exporter import metrics
from exporter.metrics.family import Family, Measured
from exporter.model.common import ClusterSnapshot, CollectorRun, Kind, Problem

log = logging.getLogger(__name__)

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


def measure(snapshot: Any) -> tuple[Measured, dict[str, str]]:
    """Every family of every subject for the snapshot's system, and subject -> why it could not be measured.

    A fault in one subject withholds its families and no others; so does a family that it did not declare.
    """
    measured: Measured = {}
    faults: dict[str, str] = {}
    for subject in subjects():
        if snapshot.system not in subject.systems:
            continue
        try:
            result = subject.measure(snapshot)
            undeclared = sorted(family.name for family in set(result) - set(subject.families))
            if undeclared:
                raise KeyError(f"{', '.join(undeclared)} measured but not declared")
        except Exception as error:  # one faulty subject must not lose the page
            log.exception("%s: a fault of the exporter, its families are withheld", subject.name)
            faults[subject.name] = f"{type(error).__name__}: {error}"
        else:
            measured.update(result)
    return measured, faults


def fault_run(faults: dict[str, str], snapshot: ClusterSnapshot) -> CollectorRun:
    """The collector run that shows such faults on the page."""
    problems = tuple(Problem(Kind.PROTOCOL, f"subject {name}", detail) for name, detail in faults.items())
    return CollectorRun("measure", False, snapshot.taken_at, 0.0, snapshot.interval_seconds, problems)
