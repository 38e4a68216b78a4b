"""Writing the evidence of a run into its folder, with no password of the run in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from drills import evidence
from drills.engine import recovery_time
from drills.engine.catalog import drills
from drills.engine.drill import Drill
from drills.engine.runs import Note
from drills.ledger import Ledger
from drills.targets.target import Target

WELL_KNOWN = "guest"  # RabbitMQ's own password, which it accepts on loopback only: no secret, and a common word


def write(folder: Path, note: Note, ledger: Ledger, drill: Drill | None, target: Target | None) -> dict[str, Any]:
    """All of it, from the ledger; can be repeated. What `drill.json` says. Raises OSError."""
    return evidence.write(folder, ledger, drill, list(_secrets(note, target)))


def drill_of_run(ledger: Ledger, catalog: str) -> Drill | None:
    """The drill that a stored run was of, with the criterion that `--rto` added; None when this version lacks it.

    Raises LookupError when the ledger has no such run.
    """
    about = ledger.about()
    drill = drills(catalog).get(about["drill"])
    if drill is None:
        return None
    return recovery_time.judged(drill, about["parameters"].get("rto"), about["parameters"].get("only"))


def _secrets(note: Note, target: Target | None) -> Iterator[str]:
    for url in (note.ledger_url, note.business_url):
        password = sa.engine.make_url(url).password
        if password:
            yield str(password)
    if target is not None and "rabbitmq" in target.systems and target.rabbitmq.password != WELL_KNOWN:
        yield target.rabbitmq.password
    if target is not None and "kafka" in target.systems:
        yield from (str(value) for key, value in target.kafka.client.items() if "password" in key)
