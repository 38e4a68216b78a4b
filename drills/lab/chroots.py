"""Programs of other Debian suites, in chroots that are kept in the cache.

Only root may make or enter one. The mirror is the one that this machine's apt uses; it is written into no file.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from drills.lab import commands, locks, places
from drills.lab.errors import LabError, LabTimeoutError, RefusedError
from drills.lab.report import Report

ENTER = Path(__file__).with_name("enter-chroot.sh")
PATIENCE = (
    5400.0  # seconds for debootstrap: a slow mirror or a busy machine (27 minutes were seen) is no reason to kill it
)
PRIVATE = ("unshare", "--mount", "--propagation", "slave")
HOSTS = "127.0.0.1 localhost\n::1 localhost\n"  # without it Erlang hangs before it logs
# what only apt needs: the mirror's address, and half a gigabyte
LEFT_OVER = ("etc/apt/sources.list", "var/lib/apt/lists", "var/cache/apt", "debootstrap", "var/log/bootstrap.log")
CONTAINER = "in a container, CAP_SYS_ADMIN and no filter against it"


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite of Debian: the packages that are taken from it, and product -> version that it was seen to have."""

    name: str
    packages: tuple[str, ...]
    gives: Mapping[str, str]


SUITES = (
    Suite(
        "bookworm",
        ("rabbitmq-server", "prometheus", "prometheus-alertmanager"),
        {"rabbitmq": "3.10", "prometheus": "2.42"},
    ),
    Suite("trixie", ("rabbitmq-server",), {"rabbitmq": "4.0"}),
    Suite(
        "sid",
        ("rabbitmq-server", "prometheus", "prometheus-alertmanager"),
        {"rabbitmq": "4.3", "prometheus": "3"},
    ),
)


def folder(suite: Suite) -> Path:
    """Where the chroot of a suite is; other packages are another folder."""
    recipe = hashlib.sha256(" ".join(suite.packages).encode()).hexdigest()[:8]
    return places.cache() / f"debian-{suite.name}-{recipe}"


def enter(root: Path) -> list[str]:
    """What to put before an absolute program's path to run it in a chroot, in the place of the process."""
    return [*PRIVATE, "sh", str(ENTER), str(root), str(places.labs())]


def ensure(suite: Suite, report: Report) -> Path:
    """The chroot of a suite, made when it is missing; one that was half made begins again.

    Raises RefusedError without the rights, LabError with debootstrap's words when it fails.
    """
    target = folder(suite)
    with locks.hold(target.with_name(f"{target.name}.lock"), f"fetch Debian {suite.name}", report=report):
        for left in target.parent.glob(f".{target.name}.*"):  # of a fetch that was killed
            shutil.rmtree(left)
        if target.is_dir():
            return target
        check_rights(suite.name)
        report.say(f"fetching {', '.join(suite.packages)} from Debian {suite.name} (once, some minutes, up to 500 MB)")
        fresh = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            _fetch(suite, fresh, report)
            _finish(fresh)
            fresh.replace(target)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
        return target


def check_rights(purpose: str) -> None:
    """Raises RefusedError when this process may not chroot and mount; `purpose` is the suite it is wanted for."""
    if os.geteuid() != 0:
        raise RefusedError(f"programs of Debian {purpose} run in a chroot, which only root may enter: run as root")
    done = subprocess.run([*PRIVATE, "true"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RefusedError(
            f"programs of Debian {purpose} run in a chroot, and this machine does not let us mount "
            f"({done.stderr.strip()}): give the right to ({CONTAINER}), or use the versions that the machine has"
        )


def _fetch(suite: Suite, target: Path, report: Report) -> None:
    """Runs debootstrap. It ends with us: its processes are in a pid namespace that dies with its first one."""
    alone = ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    include = f"--include={','.join(suite.packages)}"
    command = [*alone, "debootstrap", "--variant=minbase", include, suite.name, str(target), mirror()]
    try:
        code, said = commands.run(command, f"Debian {suite.name} is there", PATIENCE, report)
    except LabTimeoutError as late:
        raise LabError(f"debootstrap of Debian {suite.name}: {late}") from None
    if code != 0:
        words = "\n".join(said.splitlines()[-10:])
        raise LabError(
            f"debootstrap of Debian {suite.name} failed ({code}); does your mirror have that suite?\n{words}"
        )


def _finish(root: Path) -> None:
    """Names localhost, and takes away what only apt needs."""
    (root / "etc" / "hosts").write_text(HOSTS)
    for name in LEFT_OVER:
        path = root / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def mirror() -> str:
    """The mirror of Debian that this machine's apt uses. Raises LabError when its sources name none."""
    ask = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Origin: Debian"]
    try:
        done = subprocess.run([*ask, "Label: Debian"], capture_output=True, text=True, check=False)
    except OSError:
        raise LabError("this machine has no apt-get: only the versions that it has itself can be used") from None
    found = done.stdout.split()
    if not found:
        raise LabError(
            "apt's sources name no mirror of Debian that it has read (apt-get update): it is needed to fetch other "
            "versions; use the versions that this machine has"
        )
    return found[0]
