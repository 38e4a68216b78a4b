"""A metric family, and the samples that a subject measures for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

Labels: TypeAlias = tuple[str, ...]
Samples: TypeAlias = dict[Labels, float]
"""Label values in the family's order, without `cluster`, to value. A dict, so that no label set can occur twice."""

Measured: TypeAlias = "dict[Family, Samples]"


@dataclass(frozen=True, slots=True)
class Family:
    """One name, its meaning and its label names. Every sample also carries `cluster`, which the page adds.

    `kind` is gauge, counter (the name ends in `_total`) or info (the name ends in `_info`, every value is 1).
    """

    name: str
    kind: str
    help: str
    labels: tuple[str, ...] = ()
    requires: str = ""  # versions or settings without which the family is absent; for the docs

    def __post_init__(self) -> None:
        wrong = self.kind not in {"gauge", "counter", "info"}
        wrong = wrong or (self.kind == "counter") != self.name.endswith("_total")
        wrong = wrong or (self.kind == "info") != self.name.endswith("_info")
        if wrong or not self.name.startswith("mq_") or "cluster" in self.labels:
            raise ValueError(f"{self.name} ({self.kind}, {self.labels}) breaks the naming rules of this page")

    def __hash__(self) -> int:
        return hash(self.name)


def known(pairs: Mapping[Labels, float | int | None]) -> Samples:
    """Only what is known: an unknown value is an absent sample, never 0 and never NaN."""
    return {labels: value for labels, value in pairs.items() if value is not None}
