"""What a case was played on, as the broker tells it: exported definitions of its virtual hosts."""

from __future__ import annotations

import json
from pathlib import Path

from drills.faults.vhost import Vhost
from drills.lab.record import write_whole
from drills.ledger import Ledger, tables
from drills.targets.rabbitmq_api import Management, quoted
from drills.targets.target import Target

FOLDER = "topology"


def export(target: Target, ledger: Ledger, case: str, folder: Path) -> None:
    """Writes the queues, exchanges, bindings and policies of each virtual host that the case has made.

    Raises TargetError, OSError.
    """
    made = [row["arguments"]["name"] for row in ledger.rows(tables.changes, case) if row["kind"] == Vhost.kind()]
    for name in made:
        found = Management(target.rabbitmq).get(f"definitions/{quoted(name)}")
        write_whole(folder / FOLDER / f"{name}.json", json.dumps(found, indent=1, sort_keys=True))
