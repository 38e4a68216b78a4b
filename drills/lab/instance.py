"""One lab: made, repaired, looked at and taken down."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from drills.lab import (
    install,
    kafka,
    kafka_config,
    locks,
    places,
    ports,
    processes,
    rabbitmq,
    record,
    target_file,
    tmpfs,
)
from drills.lab.bring_up import BringUp
from drills.lab.errors import LabError, RefusedError
from drills.lab.kafka import Kafka
from drills.lab.keys import SECURE
from drills.lab.monitoring import Alertmanager, Prometheus
from drills.lab.node import END, START, STOP, Condition, Node, Site
from drills.lab.rabbitmq import RabbitMQ, RabbitNode
from drills.lab.record import SYSTEMS, Record, Settings
from drills.lab.report import Report
from drills.lab.waiting import wait_for

UP = 300.0  # seconds until everything must serve, downloads not counted


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """One node as it is now; pid and bytes are None when it is gone."""

    name: str
    condition: Condition
    pid: int | None
    resident_bytes: int | None
    listens: Mapping[str, int]


class Lab:
    """A lab that exists. Get one with `Lab.up` or `Lab.open`; nodes are changed through `lab.node(NAME)`."""

    def __init__(self, folder: Path, found: Record, report: Report | None = None) -> None:
        self.name = found.name
        self.folder = folder
        self.record = found
        self.site = Site(folder, found)
        self.ports = found.ports
        self.kafka = Kafka(self.site)
        self.rabbitmq = RabbitMQ(self.site)
        self.prometheus = Prometheus(self.site)
        self.alertmanager = Alertmanager(self.site)
        self.nodes: dict[str, Node] = {node.name: node for node in self._nodes()}
        for node in self.nodes.values():
            node.report = report or Report()

    def _nodes(self) -> Iterator[Node]:
        of_system: dict[str, list[Node]] = {
            "rabbitmq": rabbitmq.nodes(self.site),
            "kafka": kafka.nodes(self.site),
            "prometheus": [self.prometheus],
            "alertmanager": [self.alertmanager],
        }
        for system, nodes in of_system.items():
            if system in self.record.systems:
                for node in nodes:
                    node.peers = [peer for peer in nodes if peer is not node]
                yield from nodes

    # making and finding

    @classmethod
    def up(
        cls,
        name: str,
        only: Sequence[str] | None = None,
        *,
        tmpfs: Mapping[str, str] | None = None,
        settings: Settings | None = None,
        report: Report | None = None,
        seconds: float = UP,
    ) -> Lab:
        """A lab in which every node of the systems in `only` (default: all) serves; made, completed or repaired.

        `tmpfs` (node -> size) and `settings` are fixed when the lab is made. Raises LabError with the tail of the
        right log.
        """
        report = report or Report()
        systems = _systems(only)
        folder = places.lab_folder(name)
        _check_tmpfs(systems, tmpfs or {})
        there = record.load(folder)
        asked = settings or (there.settings if there else Settings())
        install.ensure(systems, asked, report)
        if asked.profile == SECURE:
            install.packages(install.missing({SECURE}), report)
        with _busy(folder, f"up {name}", report=report):
            found = record.load(folder)
            if found is None:
                _remove(folder)
                found = _make(name, folder, systems, dict(tmpfs or {}), settings or Settings())
                report.say(f"{name}: new lab in {folder}, ports {found.base} to {found.base + ports.SIZE - 1}")
            else:
                found = _extend(folder, found, systems, tmpfs, settings)
            lab = cls(folder, found)
            wanted = [node for node in lab.nodes.values() if node.system in systems]
            BringUp(lab.site, wanted, report).run(seconds)
            if "kafka" in systems:
                kafka.grant(lab.site)
            target_file.write(folder, name)
            return lab

    @classmethod
    def open(cls, name: str, report: Report | None = None) -> Lab:
        """The lab of this name, as it is. Raises LabError when there is none."""
        folder = places.lab_folder(name)
        found = record.load(folder)
        if found is None:
            there = ", ".join(lab_names()) or "none"
            raise LabError(f"there is no lab {name!r} (labs: {there}); make it with `mq-drill lab up {name}`")
        return cls(folder, found, report)

    # looking

    def node(self, name: str) -> Node:
        """A node by name. Raises LabError naming those that there are."""
        if name not in self.nodes:
            raise LabError(f"lab {self.name!r} has no node {name!r}; it has {', '.join(self.nodes)}")
        return self.nodes[name]

    def rabbit_node(self, name: str) -> RabbitNode:
        """A RabbitMQ node by name. Raises LabError when it is none."""
        node = self.node(name)
        if not isinstance(node, RabbitNode):
            raise LabError(f"{name} is not a RabbitMQ node; those are rabbitmq-1 to rabbitmq-3")
        return node

    def status(self) -> list[NodeStatus]:
        """Every node as it is now."""
        return [self._status(node) for node in self.nodes.values()]

    def _status(self, node: Node) -> NodeStatus:
        process = node.process()
        resident = process.resident_bytes() if process is not None else None
        return NodeStatus(node.name, node.condition(), process.pid if process else None, resident, node.listens)

    def addresses(self) -> dict[str, Any]:
        """Where everything listens: what `mq-drill lab env` shows. Only the systems this lab has."""
        found: dict[str, Any] = {"lab": self.name, "folder": str(self.folder)}
        if "kafka" in self.record.systems:
            found["kafka"] = self.kafka.addresses()
        if "rabbitmq" in self.record.systems:
            found["rabbitmq"] = self.rabbitmq.addresses()
        if "prometheus" in self.record.systems:
            found["prometheus"] = self.prometheus.url
        if "alertmanager" in self.record.systems:
            found["alertmanager"] = self.alertmanager.url
        return found

    # ending

    def stop(self) -> None:
        """Ends every node cleanly and keeps the data: brokers before controllers, to whom they say good-bye."""
        for group in self._stop_order():
            for node in group:
                process = node.process()
                if process is not None:
                    process.send(signal.SIGTERM)
                    process.send(signal.SIGCONT)
            for node in group:
                node.stop(STOP)

    def _stop_order(self) -> tuple[list[Node], list[Node]]:
        late: list[Node] = [node for node in self.nodes.values() if isinstance(node, kafka.Controller)]
        return [node for node in self.nodes.values() if node not in late], late

    def down(self, report: Report | None = None) -> None:
        """Ends the lab and leaves nothing of it: no process, mount, port or file."""
        take_down(self.name, report)


def take_down(name: str, report: Report | None = None) -> bool:
    """Clears a lab in whatever state it is, half-made included; False when there was nothing."""
    folder = places.lab_folder(name)
    report = report or Report()
    if not folder.exists() and not any(processes.marked(folder)):
        return False
    with _busy(folder, f"down {name}", report=report) as lock:
        _remove(folder)
        lock.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # others are at work
            lock.parent.rmdir()
    report.say(f"{name}: gone")
    return True


def lab_names() -> list[str]:
    """The labs there are, half-made ones included."""
    root = places.labs()
    entries = root.iterdir() if root.is_dir() else ()
    return sorted(one.name for one in entries if places.NAME.fullmatch(one.name) and places.is_lab_folder(one))


@contextlib.contextmanager
def _busy(folder: Path, purpose: str, report: Report) -> Iterator[Path]:
    """Nobody else makes, repairs or clears this lab while the block runs. Gives the lock's file."""
    lock = folder.parent / ".locks" / folder.name
    with locks.hold(lock, purpose, report=report):
        yield lock


def _make(name: str, folder: Path, systems: tuple[str, ...], small: dict[str, str], settings: Settings) -> Record:
    block = ports.allocate(folder)
    directories = (kafka_config.uuid(), kafka_config.uuid(), kafka_config.uuid())
    made = Record(name, block.base, systems, kafka_config.uuid(), directories, small, settings)
    record.save(folder, made)
    return made


def _extend(
    folder: Path, found: Record, systems: tuple[str, ...], small: Mapping[str, str] | None, settings: Settings | None
) -> Record:
    """The record with the systems added. Raises RefusedError when the lab was made otherwise than is asked now."""
    if (small and dict(small) != found.tmpfs) or (settings is not None and settings != found.settings):
        raise RefusedError(
            f"lab {found.name!r} exists with other settings ({found.settings}, tmpfs {found.tmpfs}): take it down first"
        )
    both = tuple(system for system in SYSTEMS if system in systems or system in found.systems)
    if both != found.systems:
        found = replace(found, systems=both)
        record.save(folder, found)
    return found


def _remove(folder: Path) -> None:
    """Ends every process of a lab with SIGKILL, as its data goes too, then its mounts and files."""
    if folder.exists() and not places.is_lab_folder(folder):
        raise RefusedError(f"{folder} was not made for a lab: it stays; choose another name or another MQOPS_LAB_DIR")
    wait_for("every process of the lab has ended", partial(_kill_marked, folder), END)
    tmpfs.unmount_under(folder)
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        raise LabError(f"can't remove {folder}: look at who owns it (you are user {os.geteuid()})")


def _kill_marked(folder: Path) -> str | None:
    found = list(processes.marked(folder))
    for one in found:
        one.process.send(signal.SIGKILL)
    return ", ".join(f"{one.node} (pid {one.process.pid})" for one in found) or None


def _systems(only: Sequence[str] | None) -> tuple[str, ...]:
    unknown = sorted(set(only or ()) - set(SYSTEMS))
    if unknown:
        raise LabError(f"unknown system {', '.join(unknown)}; choose from {', '.join(SYSTEMS)}")
    return tuple(system for system in SYSTEMS if only is None or system in only)


def _check_tmpfs(systems: Sequence[str], small: Mapping[str, str]) -> None:
    brokers = [f"{system}-{n}" for system in ("kafka", "rabbitmq") if system in systems for n in (1, 2, 3)]
    for node, size in small.items():
        if node not in brokers:
            raise LabError(
                f"a tmpfs can be put under {', '.join(brokers) or 'no node of these systems'}, not under {node!r}"
            )
        tmpfs.check_size(size)
    if small and os.geteuid() != 0:
        raise RefusedError("a tmpfs needs the right to mount: run as root")


__all__ = ["END", "START", "Lab", "NodeStatus", "lab_names", "take_down"]
