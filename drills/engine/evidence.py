"""Writing the evidence of a run into its folder."""

from __future__ import annotations

from pathlib import Path

from drills.engine.drill import Drill
from drills.ledger import Ledger


def write(folder: Path, ledger: Ledger, drill: Drill | None) -> None:
    """All of it, from the ledger; can be repeated. Raises OSError."""
