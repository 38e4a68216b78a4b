"""Kafka in a secure lab: what its files get beside the usual, and the users and rights that it begins with.

Clients log in by SCRAM-SHA-512 over TLS. Brokers and controllers know each other by certificate: they must reach the
controllers before the quorum has told them any password.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from drills.lab.keys import ADMIN, MONITOR, SERVER, Keys
from drills.lab.ports import Ports
from drills.lab.waiting import wait_for

SESSION_MS = 20_000  # a login is good for this long, then the client must show its password again
ITERATIONS = 4096
PATIENCE = 60.0  # seconds
MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"


class Right(NamedTuple):
    """One operation on all resources of one type, as `kafka-acls` spells them."""

    operation: str
    resource: str  # Cluster, Topic, Group

    def __str__(self) -> str:
        return f"{self.operation} on {self.resource}"


MONITOR_RIGHTS = (
    Right("Describe", "Cluster"),
    Right("Read", "Topic"),
    Right("DescribeConfigs", "Topic"),
    Right("Describe", "Group"),
    Right("DescribeConfigs", "Group"),
)
"""The least with which the exporter sees everything. Read on a topic includes Describe on it."""


def common(keys: Keys) -> dict[str, str]:
    """For brokers and controllers: TLS both ways between nodes, and nothing allowed that no rule allows."""
    return {
        "listener.security.protocol.map": "CONTROLLER:SSL,INTERNAL:SSL,CLIENT:SASL_SSL",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(keys.store),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(keys.ca),
        "listener.name.controller.ssl.client.auth": "required",
        "listener.name.internal.ssl.client.auth": "required",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": f"User:CN={SERVER};User:{ADMIN}",
    }


def broker(ports: Ports, number: int) -> dict[str, str]:
    """For a broker: one listener for clients, one for the other brokers and for the lab itself."""
    listeners = f"CLIENT://127.0.0.1:{ports.broker(number)},INTERNAL://127.0.0.1:{ports.broker_internal(number)}"
    return {
        "listeners": listeners,
        "advertised.listeners": listeners,
        "inter.broker.listener.name": "INTERNAL",
        "listener.name.client.sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "listener.name.client.scram-sha-512.sasl.jaas.config": f"{MODULE} required;",
        "listener.name.client.connections.max.reauth.ms": str(SESSION_MS),
    }


def login(keys: Keys, user: str) -> dict[str, str]:
    """How this user logs in, as librdkafka's properties."""
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": user,
        "sasl.password": keys.password("kafka", user),
        "ssl.ca.location": str(keys.ca),
    }


def command_config(keys: Keys) -> Path:
    """A file for `--command-config` of Kafka's tools, with the administrator's login."""
    return keys.folder / "kafka-admin.properties"


def command_config_text(keys: Keys) -> str:
    """What is in it."""
    password = keys.password("kafka", ADMIN)
    lines = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": f'{MODULE} required username="{ADMIN}" password="{password}";',
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(keys.ca),
    }
    return "".join(f"{key}={value}\n" for key, value in lines.items())


def grant(keys: Keys, ports: Ports, brokers: tuple[int, ...]) -> None:
    """Makes the users and the monitor's rights, and returns when every broker knows them."""
    made = admin(keys, ports, brokers)
    allow(made, MONITOR, *MONITOR_RIGHTS)
    for user in (ADMIN, MONITOR):
        set_password(made, user, keys.password("kafka", user))
    for number in brokers:
        wait_for(f"kafka-{number} knows {MONITOR}", lambda number=number: _lack(keys, ports, number), PATIENCE)  # type: ignore[misc]


def admin(keys: Keys, ports: Ports, brokers: tuple[int, ...]) -> Any:
    """confluent-kafka's AdminClient, as one of the nodes."""
    from confluent_kafka.admin import AdminClient  # here: installing the dependencies themselves imports this package

    return AdminClient(
        {
            "bootstrap.servers": ",".join(f"127.0.0.1:{ports.broker_internal(number)}" for number in brokers),
            "security.protocol": "SSL",
            "ssl.ca.location": str(keys.ca),
            "ssl.certificate.location": str(keys.certificate),
            "ssl.key.location": str(keys.key),
        }
    )


def set_password(admin: Any, user: str, password: str) -> None:
    """Makes a user, or gives one another password."""
    from confluent_kafka.admin import ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion

    how = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, ITERATIONS)
    change = UserScramCredentialUpsertion(user, how, password.encode())
    admin.alter_user_scram_credentials([change])[user].result(PATIENCE)


def allow(admin: Any, user: str, *rights: Right, name: str = "*") -> None:
    """Gives a user rights on all resources, or on those of one name."""
    bindings = [binding(user, right, name) for right in rights]
    for done in admin.create_acls(bindings).values():
        done.result(PATIENCE)


def binding(user: str, right: Right, name: str = "*", *, deny: bool = False) -> Any:
    """An ACL as confluent-kafka has it."""
    from confluent_kafka import admin

    kind = {"Cluster": "BROKER"}.get(right.resource, right.resource.upper())  # librdkafka's word for the cluster
    operation = {"DescribeConfigs": "DESCRIBE_CONFIGS"}.get(right.operation, right.operation.upper())
    permission = admin.AclPermissionType.DENY if deny else admin.AclPermissionType.ALLOW
    return admin.AclBinding(
        admin.ResourceType[kind], "kafka-cluster" if right.resource == "Cluster" else name,
        admin.ResourcePatternType.LITERAL, f"User:{user}", "*", admin.AclOperation[operation], permission,
    )  # fmt: skip


def _lack(keys: Keys, ports: Ports, number: int) -> str | None:
    """The quorum tells changes in their order: a broker that lets the last user in knows all the rest."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    client = {**login(keys, MONITOR), "bootstrap.servers": f"127.0.0.1:{ports.broker(number)}", "log_level": "0"}
    try:
        AdminClient(client).list_topics(timeout=5)
    except KafkaException as error:
        return str(error.args[0])
    return None
