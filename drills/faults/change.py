"""The interface of a change. Its fields are JSON; the ledger holds them before it is made, so that it can be undone."""

from __future__ import annotations

import importlib
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from inspect import isabstract
from typing import Any, ClassVar, Self

import drills.faults
from drills.targets.target import Target


class Change(ABC):
    """A change; a frozen dataclass in a file of its own, whose name is its KIND.

    All raise what the target raises. `undo` can run twice, and before or half-way through `make`: the driver may have
    died there. It never removes what it did not make.
    """

    is_fault: ClassVar[bool] = True

    @classmethod
    def kind(cls) -> str:
        """The name of its file."""
        return cls.__module__.rpartition(".")[2]

    def arguments(self) -> dict[str, Any]:
        """Its fields, for the ledger."""
        return asdict(self)  # type: ignore[call-overload, no-any-return]  # every kind is a dataclass

    def prepared(self, target: Target) -> Self:  # noqa: ARG002 - for kinds that need it
        """The change with what must be known before it is made: what to put back, which process is meant."""
        return self

    @abstractmethod
    def make(self, target: Target) -> None:
        """Makes it; returns when it is made."""

    def bite(self, target: Target) -> dict[str, Any] | None:  # noqa: ARG002 - resources have none
        """The proof that it took effect, from the broker's or the process's own state; None: not (yet)."""
        return None

    @abstractmethod
    def undo(self, target: Target) -> None:
        """Puts back what was before."""

    @abstractmethod
    def undone(self, target: Target) -> str | None:
        """What is missing until the world is as before; None when nothing is."""

    def members(self) -> frozenset[str]:
        """The nodes that it takes away from their cluster, for the guard of the quorum."""
        return frozenset()

    @abstractmethod
    def says(self) -> str:
        """What it does, for a person: `kill rabbitmq-1`."""

    @abstractmethod
    def undo_says(self) -> str:
        """What its undo does, for a person: `start rabbitmq-1`; empty when there is nothing to put back."""


@cache
def kinds() -> dict[str, type[Change]]:
    """Kind -> class, found by walking the package. A broken file raises here."""
    found: dict[str, type[Change]] = {}
    for module in pkgutil.iter_modules(drills.faults.__path__, "drills.faults."):
        loaded = vars(importlib.import_module(module.name))
        own = [one for one in loaded.values() if isinstance(one, type) and one.__module__ == module.name]
        for one in own:
            if issubclass(one, Change) and not isabstract(one):
                if one.kind() in found:
                    raise TypeError(f"{module.name} has two changes; the name of a kind is that of its file")
                found[one.kind()] = one
    return found


def rebuilt(kind: str, arguments: Mapping[str, Any]) -> Change:
    """The change that a row of the ledger describes. Raises LookupError for a kind that this version has not."""
    if kind not in kinds():
        raise LookupError(f"this version has no change of kind {kind!r}; it has {', '.join(sorted(kinds()))}")
    return kinds()[kind](**arguments)
