"""Kafka in a lab: three dedicated KRaft controllers and three brokers."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

from drills.lab import class_archive, jars, kafka_config, probes, tmpfs
from drills.lab.errors import LabError
from drills.lab.kafka_config import NODES
from drills.lab.node import Node, Site
from drills.lab.processes import Process, spawn
from drills.lab.record import write_whole

SMALL = "small"  # the second log directory, on a tmpfs
# the quick compiler alone: a lab lives for minutes; `java_options` has the last word
JVM = ("-Xms64m", "-XX:+UseSerialGC", "-Xshare:auto", "-XX:TieredStopAtLevel=1")


class KafkaNode(Node):
    """What controllers and brokers share: a JVM and a properties file."""

    system = "kafka"
    program = "java"
    heap: str

    def spawn(self) -> Process:
        """Starts the JVM."""
        version = self.site.record.settings.kafka_version
        logging = f"-Dlog4j2.configurationFile={Path(__file__).with_name('kafka-log4j2.xml')}"
        command = ["java", f"-Xmx{self.heap}", *JVM, *class_archive.flags(version), logging]
        command += shlex.split(self.site.record.settings.java_options)
        command += ["-cp", jars.class_path(version), "kafka.Kafka", str(self.properties)]
        return spawn(command, environment=self.site.environment(self.name), cwd=self.folder, log=self.log)

    @property
    def properties(self) -> Path:
        """Its configuration file."""
        return self.folder / "server.properties"

    @property
    def data(self) -> Path:
        """Its (first) log directory."""
        return self.folder / "data"


class Controller(KafkaNode):
    """One voter of the metadata quorum."""

    heap = "128m"

    @property
    def listens(self) -> dict[str, int]:
        """The controller listener."""
        return {"controller": self.site.ports.controller(self.number)}

    def answers(self) -> bool:
        """ApiVersions on the controller listener."""
        return probes.kafka_answers(self.site.ports.controller(self.number))

    def lack(self) -> str | None:
        """It serves when it answers and the quorum has a leader: itself or another running controller."""
        if not self.answers():
            return "does not answer yet"
        running = [self, *(peer for peer in self.peers if isinstance(peer, Controller) and peer.running())]
        leads = any(probes.kafka_leads(self.site.ports.controller(one.number)) for one in running)
        return None if leads else "no controller leads"

    def prepare(self) -> None:
        """Writes the properties; formats the log directory of a new one from the checkpoint all three share."""
        write_whole(self.properties, kafka_config.controller_properties(self.site.ports, self.number, str(self.data)))
        if not (self.data / "meta.properties").exists():
            record = self.site.record
            first = checkpoint(self.site)
            target = self.data / first.relative_to(first.parents[1])
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(first.read_bytes())
            own = record.directory_ids[self.number - 1]
            write_whole(
                self.data / "meta.properties",
                kafka_config.meta_properties(kafka_config.controller_id(self.number), record.cluster_id, own),
            )


class Broker(KafkaNode):
    """One broker."""

    heap = "384m"

    @property
    def listens(self) -> dict[str, int]:
        """The client listener."""
        return {"kafka": self.site.ports.broker(self.number)}

    def answers(self) -> bool:
        """ApiVersions on the client listener."""
        return probes.kafka_answers(self.site.ports.broker(self.number))

    def lack(self) -> str | None:
        """It serves when it sees itself unfenced, and so does every other running broker that answers."""
        for broker in (self, *(peer for peer in self.peers if isinstance(peer, Broker) and peer.running())):
            seen = probes.kafka_brokers(self.site.ports.broker(broker.number))
            if seen is None and broker is self:
                return "does not answer yet"
            if seen is not None and self.number not in seen:
                return f"fenced or not registered yet, says {broker.name}"
        return None

    def needs(self) -> str | None:
        """A leader of the controllers.

        Kafka 4.4's broker, when the leadership moves while it registers, was seen to try for ever ("the RPC got timed
        out before it could be sent") until the leadership moved again.
        """
        ports = [self.site.ports.controller(number) for number in NODES]
        return None if any(probes.kafka_leads(port) for port in ports) else "the controllers have no leader yet"

    def logs(self) -> list[Path]:
        """Its own, then those of the controllers, who may be the reason."""
        return [self.log, *(peer.log for peer in self.peers if isinstance(peer, Controller))]

    def log_dirs(self) -> list[Path]:
        """Its log directories; the second is on a tmpfs when one was asked for."""
        return [self.data, *([self.folder / SMALL] if self.name in self.site.record.tmpfs else [])]

    def prepare(self) -> None:
        """Writes the properties; mounts and formats what is not: a broker's directory needs only meta.properties."""
        record = self.site.record
        if self.name in record.tmpfs:
            tmpfs.mount(self.folder / SMALL, record.tmpfs[self.name])
        directories = self.log_dirs()
        version = record.settings.kafka_version
        text = kafka_config.broker_properties(self.site.ports, self.number, [str(one) for one in directories], version)
        write_whole(self.properties, text)
        for directory in directories:
            if not (directory / "meta.properties").exists():
                meta = kafka_config.meta_properties(self.number, record.cluster_id, kafka_config.uuid())
                write_whole(directory / "meta.properties", meta)


def nodes(site: Site) -> list[Node]:
    """Controllers and brokers, in the order to start them."""
    controllers: list[Node] = [Controller(site, f"kafka-controller-{number}", number) for number in NODES]
    brokers: list[Node] = [Broker(site, f"kafka-{number}", number) for number in NODES]
    return controllers + brokers


def checkpoint(site: Site) -> Path:
    """The metadata snapshot with the first voters and feature levels, made once by Kafka's own tool.

    It is the same for the three controllers, so one JVM formats and the rest is copied: 1.5 s instead of ten.
    """
    template = site.folder / "kafka-format"
    made = template / "data" / "__cluster_metadata-0" / "00000000000000000000-0000000000.checkpoint"
    if not (template / "done").exists():
        _format(site, template)
        (template / "done").touch()
    return made


def _format(site: Site, template: Path) -> None:
    record = site.record
    shutil.rmtree(template, ignore_errors=True)  # what a killed driver left half done
    (template / "data").mkdir(parents=True)
    text = kafka_config.controller_properties(site.ports, 1, str(template / "data"))
    write_whole(template / "server.properties", text)
    command = [
        "java",
        "-Xmx128m",
        "-XX:TieredStopAtLevel=1",
        "-Xshare:auto",
        "-Dlog4j2.level=error",
        *class_archive.flags(record.settings.kafka_version),
    ]
    command += [
        "-cp",
        jars.class_path(record.settings.kafka_version),
        "kafka.tools.StorageTool",
        "format",
    ]
    command += ["-t", record.cluster_id, "-c", str(template / "server.properties")]
    command += ["--initial-controllers", kafka_config.initial_controllers(site.ports, record.directory_ids)]
    environment = site.environment("kafka-format")
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        raise LabError(f"Kafka's format tool failed ({done.returncode}): {done.stdout[-2000:]}{done.stderr[-2000:]}")


class Kafka:
    """Addresses of the Kafka cluster of a lab."""

    def __init__(self, site: Site) -> None:
        self.brokers = {number: f"127.0.0.1:{site.ports.broker(number)}" for number in NODES}
        self.controllers = {kafka_config.controller_id(n): f"127.0.0.1:{site.ports.controller(n)}" for n in NODES}
        self.version = site.record.settings.kafka_version

    @property
    def bootstrap(self) -> str:
        """HOST:PORT of all brokers, joined by commas."""
        return ",".join(self.brokers.values())
