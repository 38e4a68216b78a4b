"""What a case was played on, as the broker tells it: its virtual hosts' definitions, its topics' settings."""

from __future__ import annotations

import json
from pathlib import Path

from drills.faults.topic import Topic
from drills.faults.vhost import Vhost
from drills.lab.record import write_whole
from drills.ledger import Ledger, tables
from drills.targets.kafka_admin import admin, described, settings
from drills.targets.rabbitmq_api import Management, quoted
from drills.targets.target import Target

FOLDER = "topology"


def export(target: Target, ledger: Ledger, case: str, folder: Path) -> None:
    """Writes what each virtual host and topic is that the case has made. Raises TargetError, OSError."""
    made = [row["arguments"]["name"] for row in ledger.rows(tables.changes, case) if row["kind"] == Vhost.kind()]
    for name in made:
        found = Management(target.rabbitmq).get(f"definitions/{quoted(name)}")
        write_whole(folder / FOLDER / f"{name}.json", json.dumps(found, indent=1, sort_keys=True))
    for row in ledger.rows(tables.changes, case):
        if row["kind"] == Topic.kind():
            _topic(target, row["arguments"]["name"], folder)


def _topic(target: Target, name: str, folder: Path) -> None:
    """Its partitions with leader and replicas, and every setting in force."""
    with admin(target.kafka) as client:
        found = {"partitions": described(target.kafka, name), "settings": settings(client, [name]).get(name)}
    write_whole(folder / FOLDER / f"{name}.json", json.dumps(found, indent=1, sort_keys=True, default=str))
