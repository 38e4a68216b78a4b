"""What a mutant is: something wrong on purpose, and what each criterion that it concerns must say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from drills.model.verdict import Judgement, Verdict
from drills.scenes.wrong import Wrong


@dataclass(frozen=True)
class Expected:
    """What a criterion has to say. `ids`: must be named, and no others; None: the IDs depend on the seed's order."""

    verdict: Verdict
    ids: tuple[str, ...] | None = ()

    def lack(self, found: Judgement) -> str | None:
        """What is wrong with the judgement; None when it is as expected."""
        if found.verdict is self.verdict and self.ids in (None, found.ids):
            return None
        return f"{found.verdict.value} {found.ids}: {found.because}; expected {self.verdict.value} {self.ids}"


@dataclass(frozen=True)
class Mutant:
    """Something wrong, in words, and what each criterion that it concerns must say."""

    about: str
    wrong: Wrong
    expected: Mapping[int, Expected]
