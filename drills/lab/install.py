"""Installs what a lab needs: Debian packages, without their daemons starting, and Kafka's jars.

`python3 -m drills.lab.install PACKAGE...` installs Debian packages; `make dev` calls it before there is a virtual
environment, so that only the standard library is used here.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from drills.lab import chroots, class_archive, commands, jars, versions
from drills.lab.errors import LabError
from drills.lab.record import Settings
from drills.lab.report import Report, report_to

DENY = Path("/usr/sbin/policy-rc.d")
DENIAL = "#!/bin/sh\n# by mqops, while it installs packages: their daemons must not start; may be removed\nexit 101\n"
APT = ("apt-get", "-q", "-y", "-o", "DPkg::Lock::Timeout=300", "-o", "Acquire::Retries=3")

PATIENCE = 1800.0  # seconds for one run of apt-get: a slow mirror is no reason to kill it

# what proves that a package is there -> the package
PROGRAMS = {
    "rabbitmq": {"/usr/lib/rabbitmq/bin/rabbitmq-server": "rabbitmq-server", "epmd": "erlang-base"},
    "prometheus": {"prometheus": "prometheus", "promtool": "prometheus"},
    "alertmanager": {"prometheus-alertmanager": "prometheus-alertmanager"},
    "kafka": {"java": "openjdk-17-jre-headless"},
    "jars": {"mvn": "maven"},
    "tmpfs": {"mount": "mount"},
    "chroot": {"debootstrap": "debootstrap", "unshare": "util-linux"},
    "secure": {"openssl": "openssl"},
    "postgresql": {"pg_ctlcluster": "postgresql"},
}


def ensure(systems: Collection[str], settings: Settings, report: Report) -> None:
    """Installs what these systems need, in these versions, and this machine lacks.

    Raises LabError with what to do by hand, or which version is there instead of the one asked for.
    """
    asked = versions.asked_for(systems, settings.rabbitmq_version, settings.prometheus_version)
    elsewhere = {product: suite for product, text in asked.items() if (suite := versions.suite_for(product, text))}
    needed = {system for system in systems if versions.PRODUCTS.get(system) not in elsewhere}
    kafka = versions.check_text("kafka", settings.kafka_version)
    if "kafka" in needed and not jars.present(kafka):
        needed.add("jars")
    if any(not chroots.folder(suite).is_dir() for suite in elsewhere.values()):
        needed.add("chroot")
    packages(missing(needed), report)
    for suite in {suite.name: suite for suite in elsewhere.values()}.values():
        chroots.ensure(suite, report)
    for product, text in asked.items():
        versions.locate(product, text)
    if "kafka" in needed:
        jars.fetch(kafka, report)
        class_archive.ensure(kafka, report)


def missing(needs: Collection[str]) -> list[str]:
    """Debian packages that are needed and not here, each once."""
    programs = {program: package for need in sorted(needs) for program, package in PROGRAMS.get(need, {}).items()}
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    return list(dict.fromkeys(package for program, package in programs.items() if not shutil.which(program, path=path)))


def packages(names: Sequence[str], report: Report) -> None:
    """Installs Debian packages. Raises LabError when that fails or needs a right that we have not."""
    if not names:
        return
    by_hand = f"apt-get install -y --no-install-recommends {' '.join(names)}"
    if not shutil.which("apt-get"):
        raise LabError(f"this machine lacks {', '.join(names)} and is no Debian: install them by its own means")
    become = _become(by_hand)
    with _alone(), _daemons_denied(become):
        report.say(f"installing {', '.join(names)}")
        if _run([*become, *_install(names)], None, report) != 0:
            report.say("reading the package lists (apt-get update)")
            _run([*become, *APT, "update"], "apt-get update", report)
            _run([*become, *_install(names)], by_hand, report)


def _install(names: Sequence[str]) -> list[str]:
    return [*APT, "install", "--no-install-recommends", *names]


def _become(by_hand: str) -> list[str]:
    """What to put before a command to run it as root."""
    if os.geteuid() == 0:
        return ["env", "DEBIAN_FRONTEND=noninteractive"]
    ask = [] if sys.stdin.isatty() else ["-n"]
    if (
        shutil.which("sudo")
        and subprocess.run(["sudo", *ask, "true"], check=False, capture_output=not ask).returncode == 0
    ):
        return ["sudo", *ask, "env", "DEBIAN_FRONTEND=noninteractive"]
    raise LabError(f"packages are missing and you are neither root nor may use sudo. As root run: {by_hand}")


def _run(command: Sequence[str], must: str | None, report: Report) -> int:
    """Runs apt-get; the end of what it said goes into a LabError when it fails and must not."""
    code, said = commands.run(command, "apt-get is done", PATIENCE, report)
    if must is not None and code != 0:
        raise LabError(f"{must} failed:\n" + "\n".join(said.splitlines()[-15:]))
    return code


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """One install at a time on this machine, whatever folder or user it is for; leaves no file."""
    descriptor = os.open("/var/lib/dpkg", os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _daemons_denied(become: Sequence[str]) -> Iterator[None]:
    """Denies the start of daemons while the block runs, unless the machine does already.

    Also removes the denial that a killed install of ours left.
    """
    try:
        ours = DENY.read_text() == DENIAL
    except FileNotFoundError:
        script = f"cat > {DENY} && chmod 755 {DENY}"
        subprocess.run([*become, "sh", "-c", script], input=DENIAL, text=True, check=True)
        ours = True
    try:
        yield
    finally:
        if ours:
            subprocess.run([*become, "rm", "-f", str(DENY)], check=True)


def main(arguments: Sequence[str]) -> int:
    """Installs the packages named; the exit code."""
    try:
        packages(arguments, report_to())
    except LabError as error:
        print(error, file=sys.stderr)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
