"""The quick start: options alone make a configuration, and mistakes are told in terms of the options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from exporter.config.mistakes import ConfigError
from exporter.config.model import Config, Kafka, RabbitMQ, Secret
from exporter.config.quick import Options, every_option, quick

NO_PASSWORD = "a user without a password; set MQ_RABBITMQ_PASSWORD or give --rabbitmq-password-file FILE"


@pytest.fixture(autouse=True)
def _no_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MQ_RABBITMQ_PASSWORD", "MQ_KAFKA_PASSWORD"):
        monkeypatch.delenv(name, raising=False)


Client = dict[str, str | int | float | bool]
SEEN = "a secret on the command line is seen by every user of this machine"


def told(**options: Any) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        quick(Options(**options))
    return str(caught.value).splitlines()


def test_a_kafka_and_a_rabbitmq_address_are_enough() -> None:
    expected = Config(
        kafka=(Kafka(bootstrap_servers=("a:9092", "b:9092")),), rabbitmq=(RabbitMQ(urls=("http://localhost:15672",)),)
    )
    assert expected == quick(Options(kafka=["a:9092,b:9092"], rabbitmq=["http://localhost:15672"]))


def test_clusters_can_be_named() -> None:
    expected = Config(
        kafka=(Kafka(cluster="orders", bootstrap_servers=("[::1]:9092",), interval=5.0),),
        rabbitmq=(RabbitMQ(cluster="tasks", urls=("http://h:15672",), interval=5.0),),
    )
    assert expected == quick(Options(kafka=["orders=[::1]:9092"], rabbitmq=["tasks=http://h:15672"], interval="5s"))


def test_properties_are_read_as_yaml_reads_them() -> None:
    client: Client = {"security_protocol": "SSL", "ssl_check_hostname": False, "receive_message_max_bytes": 5}
    pairs = ["security_protocol=SSL", "ssl_check_hostname=false", "receive_message_max_bytes=5"]
    expected = Config(kafka=(Kafka(bootstrap_servers=("a:1",), client=client),))
    assert expected == quick(Options(kafka=["a:1"], kafka_properties=pairs))


def test_a_password_in_the_url_is_refused_without_repeating_it() -> None:
    why = "leave it out, and set MQ_RABBITMQ_PASSWORD or give --rabbitmq-password-file FILE"
    assert [
        f"--rabbitmq [...]@h:15672: a password in the URL is seen by every user of this machine; {why}",
        f"--rabbitmq [...]@h:15672: {NO_PASSWORD}",
    ] == told(rabbitmq=["http://mon%40itor:p%3Aw:/#@x@h:15672"])


def test_a_login_among_the_brokers_is_refused_without_repeating_it() -> None:
    why = "leave user and password out; write `sasl.username` under `client:`, the password in `secrets:`"
    assert [f"--kafka [...]@h:9092: {why}"] == told(kafka=["me:hunter2@h:9092"])


def test_the_password_comes_from_the_environment_or_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MQ_RABBITMQ_PASSWORD", "x")
    file = tmp_path / "password"
    file.write_text("x")
    by_env = RabbitMQ(urls=("http://h:1",), username="u", password=Secret(env="MQ_RABBITMQ_PASSWORD"))
    by_file = RabbitMQ(urls=("http://h:1",), username="u", password=Secret(file=file))
    assert Config(rabbitmq=(by_env,)) == quick(Options(rabbitmq=["http://u@h:1"]))
    assert Config(rabbitmq=(by_file,)) == quick(Options(rabbitmq=["http://u@h:1"], rabbitmq_password_file=file))


def test_sasl_takes_its_password_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MQ_KAFKA_PASSWORD", "x")
    pairs = ["security_protocol=SASL_SSL", "sasl.mechanism=SCRAM-SHA-512", "sasl_plain_username=mon"]
    expected = Kafka(
        bootstrap_servers=("a:1",),
        client={
            "security_protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl_plain_username": "mon",
        },
        secrets={"sasl_plain_password": Secret(env="MQ_KAFKA_PASSWORD")},
    )
    assert Config(kafka=(expected,)) == quick(Options(kafka=["a:1"], kafka_properties=pairs))


def test_every_mistake_names_its_option() -> None:
    assert [
        "--interval: expected a duration such as 15s, 5m or 7d, got '3x'",
        "--kafka nowhere: expected HOST:PORT (an IPv6 address in brackets, [::1]:9092), got 'nowhere'",
        f"--kafka-property sasl.password: {SEEN}; set MQ_KAFKA_PASSWORD instead",
        "--kafka-property: expected NAME=VALUE, such as security_protocol=SSL",
        "--rabbitmq [...]@h: a user without a password; set MQ_RABBITMQ_PASSWORD or give --rabbitmq-password-file FILE",
    ] == sorted(
        told(kafka=["nowhere"], kafka_properties=["sasl.password=x", "q"], rabbitmq=["http://bob@h"], interval="3x")
    )


def test_two_clusters_of_one_name_are_told_how_to_be_named() -> None:
    text = "'kafka' names two clusters; name them: --kafka NAME=HOST:PORT, --rabbitmq NAME=URL"
    assert [f"--kafka b:2: {text}"] == told(kafka=["a:1", "b:2"])


def test_no_cluster_at_all_is_told() -> None:
    assert ["command line: no cluster to watch: give --kafka HOST:PORT, --rabbitmq URL or --config FILE"] == told()


@pytest.mark.parametrize(
    "url",
    [
        "ftp://u:hunter2@h", "http://u:hunter2@h:xx", "http://u:hunter2/3@", "http://u:1/hunter2@?", "n=hunter2@h",
        "u:hunter2@h", "http://u:hunter2#x@h#", "http://u:[hunter2@h:h", "http://u:hunter2@h@h:h",
    ],
)  # fmt: skip
def test_a_wrong_url_is_never_repeated_with_its_password(url: str) -> None:
    assert "hunter2" not in str(told(rabbitmq=[url]))


def test_the_options_that_a_file_replaces_are_known() -> None:
    assert ["--kafka", "--interval"] == list(every_option(Options(kafka=["a:1"], interval="5s")))
