"""Configuration files: each mistake has its fixture and its exact message; a good file means what it says."""

# ruff: noqa: E501 - messages stand here as people see them
from __future__ import annotations

import os
from pathlib import Path

import pytest

from exporter.config.load import load
from exporter.config.mistakes import ConfigError
from exporter.config.model import Config, Filter, Kafka, RabbitMQ, Secret, Web

BAD = Path(__file__).parent / "bad"
MISTAKES = {
    "alias-of-itself": [
        ":1:8: this is not YAML: nested too deeply, or too many values",
    ],
    "bad-choice": [
        ":3:5: kafka[0].ages: expected 'exact', 'estimate' or 'off', got 'exakt'; did you mean 'exact'?",
        ":5:3: log.format: expected 'text' or 'json', got 'yaml'",
    ],
    "bad-duration": [
        ":3:5: kafka[0].interval: expected a duration such as 15s, 5m or 7d, got '15 seconds'",
        ":4:5: kafka[0].timeout: expected a duration such as 15s, 5m or 7d",
    ],
    "bad-number": [
        ":3:5: kafka[0].max_series: must be 100 or more",
        ":4:5: kafka[0].expected_brokers: expected a whole number, got 'three'",
    ],
    "bad-pattern": [
        ":4:25: kafka[0].topics.allow[1]: '(payments' is not a regular expression: missing ), unterminated subpattern at position 0",
    ],
    "bad-size": [
        ":3:5: kafka[0].disk_free_limit: expected a size such as 10GiB, or a share of the disk such as 5%, got '10 gigabytes'",
    ],
    "bad-truth-value": [
        ":3:5: rabbitmq[0].insecure_skip_verify: expected true or false, got 'sometimes'",
    ],
    "bootstrap-url": [
        ":2:25: kafka[0].bootstrap_servers[0]: expected HOST:PORT without a scheme; TLS is set with `client: {security_protocol: SSL}`",
    ],
    "bootstrap-without-port": [
        ":2:25: kafka[0].bootstrap_servers[0]: expected HOST:PORT (an IPv6 address in brackets, [::1]:9092), got 'kafka-1'",
        ":2:50: kafka[0].bootstrap_servers[2]: expected HOST:PORT (an IPv6 address in brackets, [::1]:9092), got 'kafka-3:99999'",
    ],
    "certificate-missing": [
        ":3:5: rabbitmq[0].ca_file: there is no file {here}/ca.pem",
    ],
    "certificate-without-key": [
        ":3:5: rabbitmq[0].client_cert_file: needs `client_key_file` beside it",
        ":3:5: rabbitmq[0].client_cert_file: there is no file {here}/../load_test.py",
    ],
    "duplicate-key": [
        ":5:5: kafka[0].cluster: given twice, first in line 2; delete one",
    ],
    "empty-list": [
        ":2:5: rabbitmq[0].urls: needs at least 1 item",
    ],
    "empty": [
        ": the file says nothing; a small one is\n\n    kafka:\n      - cluster: orders\n        bootstrap_servers: [kafka-1:9092]",
    ],
    "key-in-wrong-place": [
        ":1:1: interval: unknown key here; it belongs in `kafka` or `rabbitmq`",
    ],
    "key-without-value": [
        ":3:5: kafka[0].expected_groups: expected a list, got nothing; give a value or delete the key",
    ],
    "list-at-top": [
        ": expected keys with values, got a list",
    ],
    "listen-address-without-port": [
        ":2:3: web.listen_address: expected HOST:PORT, [IPV6]:PORT or :PORT (every interface) to listen on, got 'localhost'",
    ],
    "listen-address": [
        ":2:3: web.listen_address: expected text, got 9977; put it in quotes",
    ],
    "many": [
        ":4:5: kafka[0].intervall: unknown key; did you mean `interval`?",
        ":5:5: kafka[0].ages: expected 'exact', 'estimate' or 'off', got 'exakt'; did you mean 'exact'?",
        ":6:14: kafka[0].client.sasl_plain_password: a secret in plain text; delete it here and write, in the same entry, `secrets: {sasl_plain_password: {file: PATH}}` (or `env: NAME`)",
        ":8:5: rabbitmq[0].cluster: 'orders' is also the name of the cluster in line 2; give each its own `cluster:` name",
        ":9:12: rabbitmq[0].urls[0]: expected a URL such as http://HOST:15672, got 'rabbit-1'",
        ":11:3: web.listen_adress: unknown key; did you mean `listen_address`?",
    ],
    "mapping-for-list": [
        ":1:1: kafka: expected a list, got keys with values; put `- ` before the first key",
    ],
    "missing-key": [
        ":2:5: kafka[0].bootstrap_servers: missing; this key is required",
    ],
    "no-cluster": [
        ": no cluster to watch: add a `kafka:` or a `rabbitmq:` entry",
    ],
    "not-utf-8": [
        ": not a text file in UTF-8: byte 0xff at offset 7",
    ],
    "number-for-text": [
        ":2:5: kafka[0].cluster: expected text, got 12; put it in quotes",
    ],
    "only-comments": [
        ": the file says nothing; a small one is\n\n    kafka:\n      - cluster: orders\n        bootstrap_servers: [kafka-1:9092]",
    ],
    "property-choice": [
        ":4:7: kafka[0].client.sasl_mechanism: sasl_mechanism 'PLAINER' is none of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER, GSSAPI, AWS_MSK_IAM",
        ":5:7: kafka[0].client.security_protocol: security_protocol 'SASL' is none of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL",
    ],
    "property-list": [
        ":4:7: kafka[0].client.ssl_cafile: expected one value (text, a number, true or false), got a list",
    ],
    "property-missing": [
        ":3:43: kafka[0].client.sasl_mechanism: sasl_mechanism PLAIN needs sasl_plain_username",
        ":3:43: kafka[0].client.sasl_mechanism: sasl_mechanism PLAIN needs sasl_plain_password",
    ],
    "property-twice": [
        ":4:15: kafka[0].secrets.sasl_plain_username: client property sasl_plain_username is given twice",
    ],
    "property-unknown": [
        ":5:7: kafka[0].client.ssl_truststore_location: client property 'ssl_truststore_location' is not known: Java key stores are not read; export a PEM file and name it in ssl_cafile",
        ":7:7: kafka[0].secrets.ssl.keystore.location: client property 'ssl.keystore.location' is not known: Java key stores are not read; export PEM files for ssl_certfile and ssl_keyfile",
    ],
    "same-cluster-name": [
        ":5:5: rabbitmq[0].cluster: 'orders' is also the name of the cluster in line 2; give each its own `cluster:` name",
    ],
    "same-default-name": [
        ":3:5: kafka[1].cluster: 'kafka' is the default name, also of the cluster in line 2; give each its own `cluster:` name",
    ],
    "secret-as-text": [
        ":4:5: rabbitmq[0].password: expected {file: PATH} or {env: NAME}; the secret itself never stands in this file",
    ],
    "secret-by-url-password": [
        ":3:5: rabbitmq[0].url_password: a secret in plain text; write `password: {file: PATH}` instead",
    ],
    "secret-env-missing": [
        ":4:29: kafka[0].secrets.sasl_plain_password.env: the environment variable MQ_TEST_NOT_SET is not set",
    ],
    "secret-file-and-env": [
        ":3:5: rabbitmq[0].password: give either `file: PATH` or `env: NAME`; secrets are never written in this file",
    ],
    "secret-file-missing": [
        ":3:16: rabbitmq[0].password.file: there is no file {here}/no-such-file",
    ],
    "secret-in-client": [
        ":4:7: kafka[0].client.security_protocol: security_protocol SASL_SSL needs a sasl_mechanism: one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER, GSSAPI, AWS_MSK_IAM",
        ":5:7: kafka[0].client.sasl_plain_password: a secret in plain text; delete it here and write, in the same entry, `secrets: {sasl_plain_password: {file: PATH}}` (or `env: NAME`)",
    ],
    "secret-in-url": [
        ":2:12: rabbitmq[0].urls[0]: leave user and password out of the URL; write `username: NAME` and `password: {file: PATH}`",
    ],
    "tabs": [
        ":2:1: this is not YAML: while scanning for the next token found character '\\t' that cannot start any token; indent with spaces, not tabs",
    ],
    "text-for-list": [
        ":2:5: kafka[0].bootstrap_servers: expected a list, got 'kafka-1:9092'; write [kafka-1:9092]",
    ],
    "unclosed-bracket": [
        ":3:12: this is not YAML: while parsing a flow sequence from line 2 on: expected ',' or ']', but got ':'",
    ],
    "unknown-key-at-top": [
        ":1:1: kafak: unknown key; did you mean `kafka`?",
    ],
    "unknown-key-without-neighbour": [
        ":2:3: log.colour: unknown key; known here: level, format",
    ],
    "unknown-key": [
        ":3:5: kafka[0].intervall: unknown key; did you mean `interval`?",
    ],
    "unknown-tag": [
        ":2:5: kafka[0].bootstrap_servers: `!hosts` values are not known here; write plain text in quotes",
        ":3:5: kafka[0].cluster: `!env` values are not known here; write plain text in quotes",
    ],
    "url-port-not-a-number": [
        ":2:12: rabbitmq[0].urls[0]: expected a URL such as http://HOST:15672; the port is not a number",
    ],
    "url-without-scheme": [
        ":2:12: rabbitmq[0].urls[0]: expected a URL such as http://HOST:15672, got 'rabbit-1:15672'",
    ],
    "user-without-password": [
        ":3:5: rabbitmq[0].username: a user without a password; add `password: {file: PATH}` (or `env: NAME`)",
    ],
    "zero-duration": [
        ":3:5: kafka[0].interval: must be greater than 0",
    ],
}


def told(path: Path) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(path)
    return [
        str(mistake).removeprefix(str(path)).replace(str(path.parent), "{here}") for mistake in caught.value.mistakes
    ]


@pytest.mark.parametrize("name", sorted(MISTAKES))
def test_each_mistake_is_told_with_its_line_and_what_to_write(name: str) -> None:
    assert MISTAKES[name] == told(BAD / f"{name}.yaml")


def test_every_bad_file_has_its_messages() -> None:
    assert sorted(MISTAKES) == sorted(path.stem for path in BAD.iterdir())


def test_no_message_repeats_a_secret() -> None:
    assert "hunter2" not in str(MISTAKES)
    assert any("hunter2" in path.read_text(errors="replace") for path in BAD.iterdir())


def test_a_missing_file_a_directory_and_an_unreadable_file_are_told(tmp_path: Path) -> None:
    assert [f": there is no file {tmp_path / 'none.yaml'}".replace(str(tmp_path), "{here}")] == told(
        tmp_path / "none.yaml"
    )
    (tmp_path / "conf.d").mkdir()
    assert [": {here}/conf.d is a directory, not a file"] == told(tmp_path / "conf.d")


@pytest.mark.skipif(os.getuid() == 0, reason="root reads everything")
def test_a_file_without_read_permission_is_told(tmp_path: Path) -> None:
    (tmp_path / "mq.yaml").touch(mode=0o000)
    assert [": no permission to read {here}/mq.yaml"] == told(tmp_path / "mq.yaml")


def test_the_origin_is_the_file_as_it_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(BAD)
    with pytest.raises(ConfigError, match=r"^unknown-key\.yaml:3:5: kafka\[0\]\.intervall: unknown key"):
        load(Path("unknown-key.yaml"))


def test_a_good_file_means_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_PASSWORD", "secret")
    (tmp_path / "rabbit-password").write_text("secret\n")
    (tmp_path / "mq.yaml").write_text(
        """
        kafka:
          - cluster: orders
            bootstrap_servers: ["kafka-1:9092", "[::1]:9092"]
            interval: 30s
            timeout: 250ms
            disk_free_limit: 10GiB
            topics: {deny: ["test\\\\..*"]}
            client: {security_protocol: SASL_SSL, sasl.mechanism: SCRAM-SHA-512, sasl.username: monitor}
            secrets: {sasl.password: {env: KAFKA_PASSWORD}}
        rabbitmq:
          - urls: [http://rabbit-1:15672/]
            username: monitor
            password: {file: rabbit-password}
        web: {listen_address: ":9977"}
        state_dir: history
        """
    )
    expected = Config(
        kafka=(
            Kafka(
                cluster="orders",
                bootstrap_servers=("kafka-1:9092", "[::1]:9092"),
                interval=30.0,
                timeout=0.25,
                disk_free_limit=10 * 1024**3,
                topics=Filter(deny=("test\\..*",)),
                client={"security_protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "monitor"},
                secrets={"sasl.password": Secret(env="KAFKA_PASSWORD")},
            ),
        ),
        rabbitmq=(
            RabbitMQ(
                urls=("http://rabbit-1:15672",),
                username="monitor",
                password=Secret(file=tmp_path / "rabbit-password"),
            ),
        ),
        web=Web(listen_address=":9977"),
        state_dir=tmp_path / "history",
    )
    assert expected == load(tmp_path / "mq.yaml")


def test_anchors_and_merge_keys_work(tmp_path: Path) -> None:
    (tmp_path / "mq.yaml").write_text(
        """
        kafka:
          - &usual {cluster: a, bootstrap_servers: ["a:1"], interval: 30s}
          - {<<: *usual, cluster: b}
        """
    )
    a = Kafka(cluster="a", bootstrap_servers=("a:1",), interval=30.0)
    assert Config(kafka=(a, a.model_copy(update={"cluster": "b"}))) == load(tmp_path / "mq.yaml")


def test_files_are_not_opened_when_told_not_to() -> None:
    expected = Config(rabbitmq=(RabbitMQ(urls=("http://rabbit-1:15672",), password=Secret(file=BAD / "no-such-file")),))
    assert expected == load(BAD / "secret-file-missing.yaml", check_files=False)
