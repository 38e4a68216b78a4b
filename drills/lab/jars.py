"""Kafka's jars: fetched once from Maven Central through the committed pom, kept in the cache for each version."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

from drills.lab import commands, locks, places
from drills.lab.errors import LabError, LabTimeoutError
from drills.lab.report import Report

POM = Path(__file__).with_name("kafka-pom.xml")
TRIES = 3
FETCH = 600.0  # seconds for one try


def folder(version: str) -> Path:
    """Where the jars of a version are; another pom is another folder."""
    pom = hashlib.sha256(POM.read_bytes()).hexdigest()[:8]
    return places.cache() / f"kafka-{version}-{pom}"


def present(version: str) -> bool:
    """Whether the jars of a version have been fetched, all of them."""
    return folder(version).is_dir()


def class_path(version: str) -> str:
    """The class path, always in the same order. Raises LabError when the jars were not fetched."""
    jars = sorted(str(jar) for jar in folder(version).glob("*.jar"))
    if not jars:
        raise LabError(f"the jars of Kafka {version} are not in {places.cache()}: run `mq-drill lab install`")
    return ":".join(jars)


def fetch(version: str, report: Report) -> None:
    """Makes sure of the jars of a version. Raises LabError with Maven's words when they can't be had."""
    target = folder(version)
    with locks.hold(target.with_name(f"{target.name}.lock"), f"fetch Kafka {version}", report=report):
        if present(version):
            return
        report.say(f"fetching Kafka {version} from Maven Central (about 55 MB)")
        for left in target.parent.glob(f".{target.name}.*"):  # of a fetch that was killed
            shutil.rmtree(left)
        fresh = target.with_name(f".{target.name}.{os.getpid()}")
        for attempt in range(1, TRIES + 1):
            shutil.rmtree(fresh, ignore_errors=True)
            said = _copy(version, fresh, report)
            if said is None:
                fresh.replace(target)
                return
            report.say(f"Maven failed (try {attempt} of {TRIES}): {said.splitlines()[0] if said else 'no message'}")
        shutil.rmtree(fresh, ignore_errors=True)
        raise LabError(
            f"Maven can't fetch Kafka {version}:\n{said}\nIs Maven Central (or your mirror of it) reachable?"
        )


def _copy(version: str, target: Path, report: Report) -> str | None:
    """Fetches into a folder; what Maven said when it failed, else None."""
    command = ["mvn", "-B", "-U", "-f", str(POM), "dependency:copy-dependencies", f"-Dkafka.version={version}"]
    command += ["-DincludeScope=runtime", f"-DoutputDirectory={target}"]
    try:
        code, said = commands.run(command, "Maven is done", FETCH, report)
    except LabTimeoutError as late:
        return str(late)
    problems = [line for line in said.splitlines() if line.startswith("[ERROR]")] or said.splitlines()
    return None if code == 0 else "\n".join(problems[:20])
