"""Kafka in a lab: three dedicated KRaft controllers and three brokers."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from functools import cached_property
from pathlib import Path
from ssl import SSLContext
from typing import Any

from drills.lab import class_archive, jars, kafka_config, kafka_security, probes, tmpfs
from drills.lab.errors import LabError
from drills.lab.kafka_config import NODES
from drills.lab.keys import ADMIN, MONITOR, Keys, keys_of, write_secret
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

    @cached_property
    def keys(self) -> Keys | None:
        """The lab's secrets; None when it has none."""
        return keys_of(self.site)

    @cached_property
    def tls(self) -> SSLContext | None:
        """TLS for looking at it; None where it speaks plain text."""
        return self.keys.context() if self.keys else None

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
        return probes.kafka_answers(self.site.ports.controller(self.number), self.tls)

    def lack(self) -> str | None:
        """It serves when it answers and the quorum has a leader: itself or another running controller."""
        if not self.answers():
            return "does not answer yet"
        running = [self, *(peer for peer in self.peers if isinstance(peer, Controller) and peer.running())]
        leads = any(probes.kafka_leads(self.site.ports.controller(one.number), self.tls) for one in running)
        return None if leads else "no controller leads"

    def prepare(self) -> None:
        """Writes the properties; formats the log directory of a new one from the checkpoint all three share."""
        text = kafka_config.controller_properties(self.site.ports, self.number, str(self.data), self.keys)
        write_whole(self.properties, text)
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
        """The client listener; in a secure lab also that of the other brokers."""
        ports = self.site.ports
        internal = {"internal": ports.broker_internal(self.number)} if self.keys else {}
        return {"kafka": ports.broker(self.number), **internal}

    @property
    def _looked_at(self) -> int:
        """The port where the lab itself asks."""
        ports = self.site.ports
        return ports.broker_internal(self.number) if self.keys else ports.broker(self.number)

    def answers(self) -> bool:
        """ApiVersions on a listener; they open together."""
        return probes.kafka_answers(self._looked_at, self.tls)

    def lack(self) -> str | None:
        """It serves when it sees itself unfenced, and so does every other running broker that answers."""
        for broker in (self, *(peer for peer in self.peers if isinstance(peer, Broker) and peer.running())):
            seen = probes.kafka_brokers(broker._looked_at, self.tls)
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
        return (
            None if any(probes.kafka_leads(port, self.tls) for port in ports) else "the controllers have no leader yet"
        )

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
        paths = [str(one) for one in directories]
        text = kafka_config.broker_properties(self.site.ports, self.number, paths, self.keys)
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
    text = kafka_config.controller_properties(site.ports, 1, str(template / "data"), keys_of(site))
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


def grant(site: Site) -> None:
    """In a secure lab: makes the users and the monitor's rights, once. Needs brokers that serve."""
    keys, done = keys_of(site), site.folder / "kafka-granted"
    if keys is None or done.exists():
        return
    write_secret(kafka_security.command_config(keys), kafka_security.command_config_text(keys))
    kafka_security.grant(keys, site.ports, NODES)
    done.touch()


class Kafka:
    """Addresses of the Kafka cluster of a lab, and how to log in."""

    def __init__(self, site: Site) -> None:
        self.brokers = {number: f"127.0.0.1:{site.ports.broker(number)}" for number in NODES}
        self.controllers = {kafka_config.controller_id(n): f"127.0.0.1:{site.ports.controller(n)}" for n in NODES}
        self.version = site.record.settings.kafka_version
        self._site = site

    @property
    def bootstrap(self) -> str:
        """HOST:PORT of all brokers, joined by commas."""
        return ",".join(self.brokers.values())

    @property
    def keys(self) -> Keys | None:
        """Secrets of a secure lab; None for another."""
        return keys_of(self._site)

    @property
    def client(self) -> dict[str, str]:
        """Properties for librdkafka of a client that may do everything."""
        return self.login(ADMIN)

    def login(self, user: str) -> dict[str, str]:
        """Properties for librdkafka of a client that is this user; a lab without security knows no users."""
        return {"bootstrap.servers": self.bootstrap, **(kafka_security.login(self.keys, user) if self.keys else {})}

    def watched(self, user: str = MONITOR) -> dict[str, Any]:
        """What mq-exporter's configuration needs to know of the cluster: addresses, and the login of its user."""
        servers = list(self.brokers.values())
        if self.keys is None:
            return {"bootstrap_servers": servers}
        client = kafka_security.login(self.keys, user)
        del client["sasl.password"]
        secrets = {"sasl.password": {"file": str(self.keys.password_file("kafka", user))}}
        return {"bootstrap_servers": servers, "client": client, "secrets": secrets}

    def admin_client(self) -> Any:
        """confluent-kafka's AdminClient as a node of a secure lab, for users and rights."""
        assert self.keys is not None, "a lab without security has no users"
        return kafka_security.admin(self.keys, self._site.ports, NODES)

    def addresses(self) -> dict[str, Any]:
        """What `mq-drill lab env` shows."""
        brokers = {str(broker): address for broker, address in self.brokers.items()}
        controllers = {str(controller): address for controller, address in self.controllers.items()}
        found = {"bootstrap": self.bootstrap, "brokers": brokers, "controllers": controllers}
        return {**found, **(self._secrets(self.keys) if self.keys else {})}

    def _secrets(self, keys: Keys) -> dict[str, str]:
        passwords = {f"{user}_password_file": str(keys.password_file("kafka", user)) for user in (ADMIN, MONITOR)}
        config = str(kafka_security.command_config(keys))
        names = {"security_protocol": "SASL_SSL", "sasl_mechanism": "SCRAM-SHA-512", "ca": str(keys.ca)}
        return {**names, "admin_user": ADMIN, "monitor_user": MONITOR, **passwords, "command_config": config}
