"""A public report of a fault in some exporter or broker, and where it is proven that ours has it not."""

from __future__ import annotations

from dataclasses import dataclass

REAL = "real brokers"


@dataclass(frozen=True)
class Report:
    """One kind of fault, as people reported it.

    `links` are `owner/repository#number` with further numbers after commas. `runs_on` is REAL, or says what the answer
    is (recorded, constructed), what was tried on real brokers, and what came of it. `tests` are paths below `tests`
    with a test's name after `::`.
    """

    number: int
    links: tuple[str, ...]
    symptom: str
    others: str
    ours: str
    tests: tuple[str, ...]
    runs_on: str = REAL

    @property
    def urls(self) -> dict[str, str]:
        """`owner/repository#number` to its address; GitHub leads from issues to pull requests, too."""
        found = {}
        for link in self.links:
            repository, _, numbers = link.partition("#")
            for number in numbers.split(","):
                found[f"{repository}#{number}"] = f"https://github.com/{repository}/issues/{number}"
        return found


def tests(path: str, *names: str) -> tuple[str, ...]:
    """These tests of the file `tests/PATH.py`."""
    return tuple(f"{path}.py::test_{name}" for name in names)
