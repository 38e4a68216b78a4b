"""What is wrong in a configuration: each mistake with where it is and what to write instead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

Path: TypeAlias = tuple[str | int, ...]
"""Where in the file: `("kafka", 0, "topics", "allow", 1)`."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """One mistake. `origin` is the file as it was given, or the command-line option; line and column count from 1."""

    origin: str
    line: int | None
    column: int | None
    key: str
    text: str

    def __str__(self) -> str:
        position = "".join(f":{number}" for number in (self.line, self.column) if number is not None)
        return (
            f"{self.origin}{position}: {self.key}: {self.text}" if self.key else f"{self.origin}{position}: {self.text}"
        )


class ConfigError(Exception):
    """The configuration cannot be used. `mistakes` holds all of them, in the order of the file."""

    def __init__(self, mistakes: Sequence[Mistake]) -> None:
        self.mistakes = tuple(sorted(mistakes, key=lambda one: (one.line or 0, one.column or 0, one.origin, one.key)))
        super().__init__("\n".join(str(mistake) for mistake in self.mistakes))


def dotted(path: Path) -> str:
    """The path as people write it: `kafka[0].topics.allow[1]`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text
