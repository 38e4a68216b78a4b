"""What a secure lab keeps secret, and what its files say."""

from __future__ import annotations

import base64
import hashlib
import json
import ssl
import subprocess
from pathlib import Path

import pytest

from drills.lab import kafka_config, kafka_security, keys, rabbitmq_config, rabbitmq_security
from drills.lab.errors import LabError
from drills.lab.keys import Keys
from drills.lab.ports import Ports
from drills.lab.record import Settings

PORTS = Ports(17000)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    found = Keys(tmp_path_factory.mktemp("lab") / "keys")
    keys.make(found)
    return found


def test_only_the_owner_may_read_keys_and_passwords(made: Keys) -> None:
    secrets = [made.key, made.store, made.folder / "ca-key.pem", made.password_file("kafka", "admin")]
    assert {0o600} == {path.stat().st_mode & 0o777 for path in secrets}
    assert 0o700 == made.folder.stat().st_mode & 0o777


def test_a_password_is_made_once_for_each_user_of_each_system(made: Keys) -> None:
    names = [(system, user) for system in ("kafka", "rabbitmq") for user in ("admin", "monitor")]
    first = [made.password(*name) for name in names]
    assert first == [made.password(*name) for name in names]
    assert 4 == len(set(first))
    assert all(len(password) == 24 for password in first)


def test_the_certificate_is_for_loopback_and_signed_by_the_labs_own_authority(made: Keys) -> None:
    subprocess.run(["openssl", "verify", "-CAfile", made.ca, made.certificate], check=True, capture_output=True)
    shown = subprocess.run(
        ["openssl", "x509", "-in", made.certificate, "-noout", "-subject", "-ext", "subjectAltName"],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    assert "CN = lab-node" in shown.replace("CN=", "CN = ")
    assert "DNS:localhost, IP Address:127.0.0.1" in shown
    assert ssl.CERT_REQUIRED == made.context().verify_mode


def properties(text: str, sign: str = "=") -> dict[str, str]:
    return {name.strip(): value.strip() for name, value in (line.split(sign, 1) for line in text.splitlines())}


def test_every_listener_of_kafka_has_tls_and_a_login_or_a_certificate(made: Keys) -> None:
    for text in (
        kafka_config.controller_properties(PORTS, 1, "/data", made),
        kafka_config.broker_properties(PORTS, 1, ["/data"], keys=made),
    ):
        found = properties(text)
        expected = {"CONTROLLER": "SSL", "INTERNAL": "SSL", "CLIENT": "SASL_SSL"}
        assert expected == dict(pair.split(":") for pair in found["listener.security.protocol.map"].split(","))
        assert {address.split(":")[0] for address in found["listeners"].split(",")} <= expected.keys()
        required = [found[f"listener.name.{name}.ssl.client.auth"] for name in ("controller", "internal")]
        assert ["required", "required"] == required
        assert "User:CN=lab-node;User:admin" == found["super.users"]
        assert made.password("kafka", "admin") not in text


def test_rabbitmq_listens_with_tls_alone_and_has_no_guest(made: Keys) -> None:
    found = properties(rabbitmq_config.configuration(PORTS, 2, Settings(profile="secure"), made))
    assert ("none", "none") == (found["listeners.tcp"], found["stream.listeners.tcp"])
    assert {} == {name: value for name, value in found.items() if ".tcp." in name}
    definitions = json.loads(rabbitmq_security.definitions(made))
    assert [("admin", "administrator"), ("monitor", "monitoring")] == [
        (user["name"], user["tags"]) for user in definitions["users"]
    ]
    assert made.password("rabbitmq", "monitor") not in json.dumps(definitions)


def test_a_password_hash_is_the_salt_and_the_sha_256_of_salt_and_password() -> None:
    raw = base64.b64decode(rabbitmq_security.password_hash("secret"))
    assert raw == raw[:4] + hashlib.sha256(raw[:4] + b"secret").digest()


def test_an_acl_names_the_operation_the_resource_and_the_user() -> None:
    cluster = kafka_security.binding("monitor", kafka_security.Right("Describe", "Cluster"))
    topic = kafka_security.binding("monitor", kafka_security.Right("DescribeConfigs", "Topic"), "orders", deny=True)
    assert ("kafka-cluster", "BROKER", "DESCRIBE", "ALLOW") == (
        cluster.name, cluster.restype.name, cluster.operation.name, cluster.permission_type.name,
    )  # fmt: skip
    assert ("orders", "TOPIC", "DESCRIBE_CONFIGS", "DENY", "User:monitor") == (
        topic.name, topic.restype.name, topic.operation.name, topic.permission_type.name, topic.principal,
    )  # fmt: skip


def test_without_openssl_the_lab_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LabError, match="apt-get install -y openssl"):
        keys.make(Keys(tmp_path / "keys"))
