"""One Kafka node, broker and controller in one, with TLS, SASL and an authorizer; ended with the test run."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka.admin import AclBinding, AclOperation, AclPermissionType, AdminClient, ResourcePatternType
from confluent_kafka.admin import ResourceType as Resource

from drills.lab import class_archive, jars, kafka_config, probes, report_to
from tests import versions
from tests.pem import certificates

START = 120.0
PASSWORD = "pass-of-"  # and the user's name
USERS = ("admin", "monitor", "half", "nobody")
REAUTHENTICATE_MS = 3000
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"


@dataclass(frozen=True)
class SecureNode:
    """Addresses of its listeners. Anyone may do anything on `open`; the others need TLS, `sasl` a login too."""

    open: str
    tls: str
    mutual: str
    sasl: str
    ca: Path
    certificate: Path
    key: Path
    admin: AdminClient
    folder: Path

    def lose_second_directory(self) -> None:
        """Take the second log directory away under the broker, as a dead disk does."""
        shutil.rmtree(self.folder / "more")

    def allow(self, user: str, operation: AclOperation, kind: Resource, name: str = "*") -> None:
        pattern = ResourcePatternType.LITERAL
        binding = AclBinding(kind, name, pattern, f"User:{user}", "*", operation, AclPermissionType.ALLOW)
        self.admin.create_acls([binding])[binding].result(30)


@contextmanager
def secure_node(folder: Path) -> Iterator[SecureNode]:
    """A fresh node in this folder, serving. Raises AssertionError with the end of its log."""
    version = versions.of_this_run().kafka_version
    jars.fetch(version, report_to(sys.__stderr__))
    ca, certificate, key = certificates(folder)
    ports = _free_ports(5)
    properties = folder / "server.properties"
    properties.write_text(_properties(folder, ports))
    base = ["java", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *class_archive.flags(version)]
    base += ["-cp", jars.class_path(version)]
    users = [f"--add-scram=SCRAM-SHA-512=[name={user},password={PASSWORD}{user}]" for user in USERS]
    tool = ["kafka.tools.StorageTool", "format", "--standalone", "-t", kafka_config.uuid(), "-c", str(properties)]
    subprocess.run([*base, *tool, *users], check=True, capture_output=True, timeout=START)
    log = folder / "node.log"
    with log.open("wb") as out:
        process = subprocess.Popen([*base, "kafka.Kafka", str(properties)], stdout=out, stderr=out)
    try:
        _await(process, ports[0], log)
        admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{ports[0]}"})
        hosts = [f"localhost:{port}" for port in ports[:4]]
        yield SecureNode(hosts[0], hosts[1], hosts[2], hosts[3], ca, certificate, key, admin, folder)
    finally:
        process.kill()
        process.wait(30)


def _await(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + START
    while not probes.kafka_brokers(port):
        assert process.poll() is None, log.read_text(errors="replace")[-3000:]
        assert time.monotonic() < deadline, f"not serving after {START} s: {log.read_text(errors='replace')[-3000:]}"
        time.sleep(0.2)


def _properties(folder: Path, ports: list[int]) -> str:
    names = ("OPEN", "TLS", "MUTUAL", "SEC")
    listeners = [f"{name}://localhost:{port}" for name, port in zip(names, ports, strict=False)]
    (folder / "store.pem").write_text((folder / "cert.key").read_text() + (folder / "cert.pem").read_text())
    users = " ".join(f'user_{user}="{PASSWORD}{user}"' for user in USERS)
    lines = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "listeners": ",".join([*listeners, f"CONTROLLER://localhost:{ports[4]}"]),
        "advertised.listeners": ",".join(listeners),
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "OPEN",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,OPEN:PLAINTEXT,TLS:SSL,MUTUAL:SSL,SEC:SASL_SSL",
        "controller.quorum.bootstrap.servers": f"localhost:{ports[4]}",
        "log.dirs": f"{folder / 'data'},{folder / 'more'}",
        "offsets.topic.num.partitions": "3",
        "offsets.topic.replication.factor": "1",
        "group.initial.rebalance.delay.ms": "0",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(folder / "store.pem"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(folder / "ca.pem"),
        "listener.name.mutual.ssl.client.auth": "required",
        "listener.name.sec.sasl.enabled.mechanisms": "SCRAM-SHA-512,PLAIN,OAUTHBEARER",
        "listener.name.sec.connections.max.reauth.ms": str(REAUTHENTICATE_MS),
        "listener.name.sec.scram-sha-512.sasl.jaas.config": SCRAM,
        "listener.name.sec.oauthbearer.sasl.jaas.config": f'{OAUTH} unsecuredLoginStringClaim_sub="admin";',
        "listener.name.sec.plain.sasl.jaas.config": f"{PLAIN_MODULE} {users};",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS;User:admin;User:CN=localhost",
    }
    return "".join(f"{key}={value}\n" for key, value in lines.items())


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    try:
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()
