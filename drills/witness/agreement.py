"""Two witnesses of one thing: whether they say the same, and where they don't, what each says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Agreement:
    """Name of a count -> what each witness said. None: it said nothing, which is neither a yes nor a no."""

    first: str
    second: str
    said: Mapping[str, tuple[float | None, float | None]]

    @property
    def disagreements(self) -> list[str]:
        """In words, one for each count that both named and not alike."""
        return [
            f"{name}: {self.first} says {one:g}, {self.second} says {other:g}"
            for name, (one, other) in self.said.items()
            if one is not None and other is not None and one != other
        ]

    @property
    def silent(self) -> list[str]:
        """Which counts one of them did not name."""
        return [name for name, pair in self.said.items() if None in pair]

    def json(self) -> dict[str, Any]:
        """The same, as a fact of the ledger."""
        return {**asdict(self), "disagreements": self.disagreements, "silent": self.silent}
