"""What a lab is, written into its folder before anything starts, so that a later command can repair or clear it."""

from __future__ import annotations

import dataclasses
import json
import os
from dataclasses import dataclass, field
from pathlib import Path

from drills.lab.ports import Ports
from drills.lab.processes import Process, boot_id

SYSTEMS = ("kafka", "rabbitmq", "prometheus", "alertmanager")
VERSION = 1


@dataclass(frozen=True, slots=True)
class Settings:
    """What may differ between labs; fixed when a lab is made."""

    profile: str = "plain"  # or "secure": TLS, logins and rights
    kafka_version: str = "4.4.0"
    rabbitmq_version: str = "3.10"  # a series; where it is taken from: versions.py
    prometheus_version: str = "2.42"  # a series
    java_options: str = ""  # for Kafka, after the lab's own, such as -XX:TieredStopAtLevel=4 for long measurements
    net_ticktime: int = 60  # seconds; RabbitMQ calls a silent peer dead after about this long
    partition_handling: str = "ignore"
    statistics_interval: int = 1000  # milliseconds between RabbitMQ's statistics


@dataclass(frozen=True, slots=True)
class Record:
    """One lab: name, port block, which systems it has, node -> size of the tmpfs under it, Kafka's identity."""

    name: str
    base: int
    systems: tuple[str, ...]
    cluster_id: str
    directory_ids: tuple[str, str, str]  # of the three controllers
    tmpfs: dict[str, str] = field(default_factory=dict)
    settings: Settings = field(default_factory=Settings)

    @property
    def ports(self) -> Ports:
        """The port block."""
        return Ports(self.base)


def load(folder: Path) -> Record | None:
    """The record in a lab's folder; None when there is none or it can't be read (a driver died while making it)."""
    try:
        raw = json.loads((folder / "lab.json").read_text())
        if raw.pop("version") != VERSION:
            return None
        raw["settings"] = Settings(**raw["settings"])
        raw["systems"] = tuple(raw["systems"])
        raw["directory_ids"] = tuple(raw["directory_ids"])
        return Record(**raw)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def save(folder: Path, record: Record) -> None:
    """Writes the record, whole or not at all."""
    write_whole(folder / "lab.json", json.dumps({"version": VERSION, **dataclasses.asdict(record)}, indent=1))


def load_process(path: Path) -> Process | None:
    """The process a node was last started as; None when it has ended, or was of an earlier boot."""
    try:
        raw = json.loads(path.read_text())
        process = Process(raw["pid"], raw["started"])
        same_boot = raw["boot"] == boot_id()
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return process if same_boot and process.alive() else None


def save_process(path: Path, process: Process) -> None:
    """Remembers which process a node is."""
    write_whole(path, json.dumps({"pid": process.pid, "started": process.started, "boot": boot_id()}))


def write_whole(path: Path, text: str) -> None:
    """Writes a file so that readers see the old or the new text, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_text(text)
    fresh.replace(path)
