"""Which RabbitMQ, Prometheus and Alertmanager a lab runs: this machine's own, or those of another Debian suite."""

from __future__ import annotations

import functools
import os
import re
import subprocess
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from drills.lab import chroots
from drills.lab.chroots import SUITES, Suite
from drills.lab.errors import LabError

PRODUCTS = {"rabbitmq": "rabbitmq", "prometheus": "prometheus", "alertmanager": "prometheus"}
"""System -> the product whose version is asked for it. Alertmanager comes from where Prometheus does."""
TITLES = {"rabbitmq": "RabbitMQ", "prometheus": "Prometheus"}
PROMETHEUS = "/usr/bin/prometheus"
OWN_RABBITMQ = Path("/usr/lib/rabbitmq")  # not the wrappers in /usr/sbin, which change the user and the folder
TEXT = re.compile(r"\d+(\.\d+){0,2}")
KAFKA = re.compile(r"\d+\.\d+\.\d+")


@dataclass(frozen=True, slots=True)
class Programs:
    """Where a product is: in a chroot, or (root None) on this machine itself; and its full version."""

    root: Path | None
    version: str

    def command(self, program: str) -> list[str]:
        """The command that runs a program, given by its name or path."""
        return [*(chroots.enter(self.root) if self.root else ()), program]


def check_text(product: str, asked: str) -> str:
    """The version as it was asked for. Raises LabError when it is none."""
    if product == "kafka" and not KAFKA.fullmatch(asked):
        raise LabError(f"{asked!r} is not a version of Kafka: three numbers are needed, such as 4.4.0 or 3.9.2")
    if product != "kafka" and not TEXT.fullmatch(asked):
        raise LabError(f"{asked!r} is not a version of {TITLES[product]}: use one to three numbers, such as 4.0")
    return asked


def matches(asked: str, found: str) -> bool:
    """Whether a version is of the series that was asked for: 4.0.5 is of 4.0 and of 4, not of 4.0.50."""
    wanted = asked.split(".")
    return found.split(".")[: len(wanted)] == wanted


def choose(
    product: str, asked: str, own: str | None, machine: str | None, fetched: Mapping[str, str | None]
) -> Suite | None:
    """The suite to take a version from; None for this machine itself.

    `own`: the version this machine has; `machine`: the name of its suite; `fetched`: suite -> version in its chroot.
    Raises LabError when nothing is known to have that version.
    """
    if own is not None and matches(asked, own):
        return None
    for suite in SUITES:
        if (there := fetched.get(suite.name)) and matches(asked, there):
            return suite
    for suite in SUITES:
        usual = suite.gives.get(product)
        if usual is not None and (matches(asked, usual) or matches(usual, asked)):
            if own is None and suite.name == machine:
                return None
            if suite.name in fetched:
                raise LabError(other_version(product, asked, suite, fetched[suite.name]))
            return suite
    can = [f"{usual} (Debian {suite.name})" for suite in SUITES if (usual := suite.gives.get(product))]
    has = f"; this machine has {own}" if own else ""
    raise LabError(f"{TITLES[product]} {asked} is not known to be had here{has}. Choose from {', '.join(can)}")


def other_version(product: str, asked: str, suite: Suite, found: str | None) -> str:
    """What to say when a suite has another version than the one it is known for."""
    option = f"ask for --{product} {_series(found)}" if found else f"remove {chroots.folder(suite)} and try again"
    return (
        f"Debian {suite.name}, as fetched into {chroots.folder(suite)}, has {TITLES[product]} {found or 'not at all'}, "
        f"and {asked} was asked for. Suites move: {option}; when the folder is old and the suite has the version by "
        f"now, remove the folder, and it is fetched again"
    )


def _series(version: str) -> str:
    return ".".join(version.split(".")[:2])


def suite_for(product: str, asked: str) -> Suite | None:
    """As `choose`, for this machine and its cache as they are."""
    there = {suite.name: _in_chroot(product, suite) for suite in SUITES if _gives(product, suite)}
    return choose(product, check_text(product, asked), _version(product, None), _codename(), there)


def _gives(product: str, suite: Suite) -> bool:
    return product in suite.gives and chroots.folder(suite).is_dir()


def _in_chroot(product: str, suite: Suite) -> str | None:
    return _version(product, chroots.folder(suite))


def locate(product: str, asked: str) -> Programs:
    """Where the programs of a version are. Raises LabError when they are not installed, or are of another version."""
    suite = suite_for(product, asked)
    root = chroots.folder(suite) if suite else None
    found = _version(product, root)
    if found is None:
        raise LabError(f"{TITLES[product]} {asked} is not installed: run `mq-drill lab install --{product} {asked}`")
    if not matches(asked, found):
        raise LabError(
            other_version(product, asked, suite, found)
            if suite
            else f"this machine's package of {TITLES[product]} is {found}, and {asked} was asked for: "
            f"ask for --{product} {_series(found)}"
        )
    return Programs(root, found)


located = functools.cache(locate)
"""As `locate`; what was found is kept while this process runs."""


def asked_for(systems: Collection[str], rabbitmq: str, prometheus: str) -> dict[str, str]:
    """Product -> version asked for, of the products that these systems need."""
    asked = {"rabbitmq": rabbitmq, "prometheus": prometheus}
    needed = {PRODUCTS[system] for system in systems if system in PRODUCTS}
    return {product: asked[product] for product in sorted(needed)}


def _codename() -> str | None:
    try:
        found = re.search(r"^VERSION_CODENAME=(\w+)$", Path("/etc/os-release").read_text(), re.MULTILINE)
    except OSError:
        return None
    return found[1] if found else None


def _version(product: str, root: Path | None) -> str | None:
    """The full version of a product in a chroot, or on this machine itself; None when it is not there."""
    if product == "rabbitmq":
        return _newest((root or Path("/")) / OWN_RABBITMQ.relative_to("/") / "lib")
    return _told(root)


def _newest(folder: Path) -> str | None:
    """By the folder that RabbitMQ's own files are in: asking the program takes a second."""
    found = [one.name.removeprefix("rabbitmq_server-") for one in folder.glob("rabbitmq_server-*")]
    return max((one for one in found if TEXT.match(one)), default=None)


def _told(root: Path | None) -> str | None:
    """By Prometheus itself."""
    if root is not None and (os.geteuid() != 0 or not (root / PROMETHEUS.lstrip("/")).exists()):
        return None
    command = ["chroot", str(root), PROMETHEUS, "--version"] if root else ["prometheus", "--version"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except OSError:
        return None
    found = re.search(r"version (\d+\.\d+\.\d+)", done.stdout + done.stderr)
    return found[1] if found else None
