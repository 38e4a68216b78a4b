"""A block of 100 ports for each lab, below the range the kernel takes for outgoing connections."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from drills.lab import locks, places
from drills.lab.errors import LabError

SIZE = 100
DEFAULT = (20000, 32699)


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports of one lab, `base` to `base` + 99. Nodes are numbered 1 to 3."""

    base: int

    @property
    def epmd(self) -> int:
        """Erlang's port mapper."""
        return self.base

    def amqp(self, node: int) -> int:
        """RabbitMQ's AMQP listener."""
        return self.base + node

    def management(self, node: int) -> int:
        """RabbitMQ's HTTP API."""
        return self.base + 10 + node

    def rabbitmq_metrics(self, node: int) -> int:
        """RabbitMQ's own Prometheus endpoint."""
        return self.base + 20 + node

    def stream(self, node: int) -> int:
        """RabbitMQ's stream listener."""
        return self.base + 30 + node

    def distribution(self, node: int) -> int:
        """Erlang distribution between the nodes."""
        return self.base + 40 + node

    @property
    def cli(self) -> tuple[int, int]:
        """First and last port for the Erlang distribution of command line tools."""
        return self.base + 50, self.base + 69

    def controller(self, node: int) -> int:
        """Kafka's controller listener."""
        return self.base + 70 + node

    def broker(self, node: int) -> int:
        """Kafka's client listener."""
        return self.base + 80 + node

    def broker_internal(self, node: int) -> int:
        """Between Kafka's brokers, in a secure lab."""
        return self.base + 84 + node

    @property
    def prometheus(self) -> int:
        """Prometheus."""
        return self.base + 91

    @property
    def alertmanager(self) -> int:
        """Alertmanager."""
        return self.base + 92

    @property
    def spare(self) -> range:
        """Seven ports for whoever uses the lab: an exporter, a webhook."""
        return range(self.base + 93, self.base + 100)


def taken(port: int) -> bool:
    """Whether something listens on the port (on loopback or on every address)."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do: what only lingers is free
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False


def allocate(folder: Path) -> Ports:
    """A free block, recorded for the lab in `folder`, which is made here; two callers never get the same.

    The record holds while the folder exists. Raises LabError when no block is free in the range.
    """
    with _register() as blocks:
        for base in _bases():
            if str(base) not in blocks and not any(taken(port) for port in range(base, base + SIZE)):
                places.make_lab_folder(folder)
                blocks[str(base)] = str(folder)
                return Ports(base)
    first, last = _range()
    raise LabError(
        f"no free block of {SIZE} ports in {first}-{last}: end a lab (mq-drill lab list) or set MQOPS_LAB_PORTS"
    )


@contextlib.contextmanager
def _register() -> Iterator[dict[str, str]]:
    path = places.cache() / "ports.json"
    with locks.hold(path.with_suffix(".lock"), "port register"):
        try:
            known = json.loads(path.read_text())
        except (OSError, ValueError):
            known = {}
        blocks = {base: folder for base, folder in known.items() if Path(folder).is_dir()}
        yield blocks
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps(blocks, indent=1))
        fresh.replace(path)


def _range() -> tuple[int, int]:
    own = os.environ.get("MQOPS_LAB_PORTS")
    if not own:
        return DEFAULT
    first, dash, last = own.partition("-")
    if not (dash and first.isdigit() and last.isdigit() and 1024 <= int(first) < int(last) <= 65535):
        raise LabError(f"MQOPS_LAB_PORTS must be FIRST-LAST, such as 24000-27999, got {own!r}")
    return int(first), int(last)


def _bases() -> range:
    first, last = _range()
    return range(-(-first // SIZE) * SIZE, last - SIZE + 2, SIZE)
