"""The drills there are, found by walking a package: each file in it has a `DRILL`."""

from __future__ import annotations

import importlib
import pkgutil

from drills.engine.drill import Drill
from drills.engine.errors import WrongUse

PACKAGE = "drills.catalog"


def drills(package: str = PACKAGE) -> dict[str, Drill]:
    """Name -> drill, in the order of the names. A broken file raises here."""
    root = importlib.import_module(package)
    found: dict[str, Drill] = {}
    for module in pkgutil.iter_modules(root.__path__, f"{package}."):
        drill = vars(importlib.import_module(module.name)).get("DRILL")
        if not isinstance(drill, Drill):
            raise TypeError(f"{module.name} has no DRILL")
        if drill.name in found:
            raise TypeError(f"two drills are called {drill.name}")
        found[drill.name] = checked(drill)
    return dict(sorted(found.items()))


def checked(drill: Drill) -> Drill:
    """The drill. Raises TypeError when a criterion needs a case that it has not, or a number stands twice."""
    cases = {case.name for case in drill.cases}
    for criterion in drill.criteria:
        if not criterion.cases or not cases.issuperset(criterion.cases):
            raise TypeError(f"criterion {criterion.number} of {drill.name} needs cases {criterion.cases}")
    numbers = [criterion.number for criterion in drill.criteria]
    if len(set(numbers)) != len(numbers) or len(cases) != len(drill.cases):
        raise TypeError(f"drill {drill.name} has a criterion or a case twice")
    return drill


def drill_of(name: str, package: str = PACKAGE) -> Drill:
    """A drill by name. Raises WrongUse naming those there are."""
    found = drills(package)
    if name not in found:
        raise WrongUse(f"there is no drill {name!r}; there are: {', '.join(found) or 'none yet'}")
    return found[name]
