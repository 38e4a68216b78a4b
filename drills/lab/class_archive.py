"""An archive of Kafka's loaded classes, made once for each version and JVM: it halves the CPU time of a start."""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

from drills.lab import jars, kafka_config, locks, probes
from drills.lab.errors import LabError, LabTimeoutError
from drills.lab.report import Report
from drills.lab.waiting import wait_all

TRAINING = 300.0  # seconds for the node that loads the classes to serve
BUSY = 8  # load for each core at which making the archive takes minutes
DUMP = 300.0  # seconds for it to end, which writes the archive


def flags(version: str) -> tuple[str, ...]:
    """JVM flags that use the archive, when there is one for this JVM."""
    archive = _path(version)
    return (f"-XX:SharedArchiveFile={archive}",) if archive.exists() else ()


def ensure(version: str, report: Report) -> None:
    """Makes the archive unless there is one, or the machine is too busy. Without it each start only takes longer."""
    archive = _path(version)
    if not archive.exists() and os.getloadavg()[0] > BUSY * (os.cpu_count() or 1):
        report.say("the machine is busy: faster starts of Kafka are prepared another time")
        return
    with locks.hold(archive.with_suffix(".lock"), "make Kafka's class archive", report=report):
        if archive.exists():
            return
        report.say("preparing faster starts of Kafka (once, 10 to 20 s)")
        with tempfile.TemporaryDirectory(prefix="mqops-classes-") as scratch:
            try:
                made = _train(version, Path(scratch), report)
                shutil.move(made, archive.with_suffix(".new"))
                archive.with_suffix(".new").replace(archive)
            except (LabError, OSError, subprocess.SubprocessError) as error:
                report.say(f"no faster starts: {error}")


def _path(version: str) -> Path:
    java = Path(shutil.which("java") or "java").resolve()
    stamp = f"{java} {java.stat().st_mtime_ns if java.exists() else 0}"
    return jars.folder(version) / f"classes-{hashlib.sha256(stamp.encode()).hexdigest()[:8]}.jsa"


def _train(version: str, scratch: Path, report: Report) -> Path:
    """Runs one small node, broker and controller in one, until it serves; the archive it wrote at its end."""
    client, controller = _free_ports(2)
    properties = scratch / "server.properties"
    properties.write_text(kafka_config.combined_properties(client, controller, str(scratch / "data")))
    identity = kafka_config.uuid()
    java = ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", jars.class_path(version)]
    tool = [*java, "kafka.tools.StorageTool", "format", "--standalone", "-t", identity, "-c", str(properties)]
    subprocess.run(tool, capture_output=True, timeout=60, check=True)
    archive = scratch / "classes.jsa"
    command = [*java[:1], f"-XX:ArchiveClassesAtExit={archive}", *java[1:], "kafka.Kafka", str(properties)]
    # it must not outlive us when we are killed
    node = subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        wait_all({"a first Kafka node serves": lambda: _lack(node, client)}, TRAINING, report)
        node.terminate()
        node.wait(DUMP)
    finally:
        node.kill()
        node.wait()
    if not archive.exists():
        raise LabTimeoutError("the JVM wrote no class archive")
    return archive


def _lack(node: subprocess.Popen[bytes], port: int) -> str | None:
    if node.poll() is not None:
        raise LabError(f"it ended with code {node.returncode}")
    return None if probes.kafka_brokers(port) else "does not serve yet"


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()
