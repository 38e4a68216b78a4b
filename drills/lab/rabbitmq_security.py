"""RabbitMQ in a secure lab: TLS on every listener, and the users that it begins with."""

from __future__ import annotations

import base64
import hashlib
import json
import os

from drills.lab.keys import ADMIN, MONITOR, Keys
from drills.lab.ports import Ports

NOTHING = "^$"  # may see the vhost, and touch nothing in it
ALL = ".*"
CERTIFICATES = ("cacertfile", "certfile", "keyfile")


def configuration(ports: Ports, number: int, keys: Keys) -> dict[str, str]:
    """What rabbitmq.conf has instead of the plain listeners."""
    files = dict(zip(CERTIFICATES, map(str, (keys.ca, keys.certificate, keys.key)), strict=True))
    sections = ("ssl_options", "management.ssl", "prometheus.ssl")
    return {
        "listeners.tcp": "none",
        "listeners.ssl.1": f"127.0.0.1:{ports.amqp(number)}",
        "stream.listeners.tcp": "none",
        "stream.listeners.ssl.1": f"127.0.0.1:{ports.stream(number)}",
        "management.ssl.ip": "127.0.0.1",
        "management.ssl.port": str(ports.management(number)),
        "prometheus.ssl.ip": "127.0.0.1",
        "prometheus.ssl.port": str(ports.rabbitmq_metrics(number)),
        **{f"{section}.{name}": file for section in sections for name, file in files.items()},
    }


def definitions(keys: Keys) -> str:
    """The first vhost and users, with the hashes of their passwords. Without `guest`."""
    users = [
        {"name": name, "tags": tag, "password_hash": password_hash(keys.password("rabbitmq", name)),
         "hashing_algorithm": "rabbit_password_hashing_sha256"}
        for name, tag in ((ADMIN, "administrator"), (MONITOR, "monitoring"))
    ]  # fmt: skip
    permissions = [
        {"user": name, "vhost": "/", "configure": what, "write": what, "read": what}
        for name, what in ((ADMIN, ALL), (MONITOR, NOTHING))
    ]
    return json.dumps({"vhosts": [{"name": "/"}], "users": users, "permissions": permissions}, indent=1)


def password_hash(password: str) -> str:
    """As RabbitMQ keeps it: a salt of four bytes, then SHA-256 of salt and password, in base64."""
    salt = os.urandom(4)
    return base64.b64encode(salt + hashlib.sha256(salt + password.encode()).digest()).decode()
