"""A reload says what changed, hides what may be secret, and leaves everything as it was when it fails."""

from __future__ import annotations

import logging

import pytest
from pydantic import SecretStr

from exporter.config.model import Config, Filter, Kafka, Log, RabbitMQ, Secret, Web
from exporter.log import StateLog
from exporter.reload import Outcome, Reloader, changes
from tests.unit.server.served import poller_of, snapshot

KAFKA = Kafka(cluster="orders", bootstrap_servers=("k:1",))
RABBIT = RabbitMQ(cluster="tasks", urls=("http://h:1",), url_password=SecretStr("hunter2"))


def test_nothing_changed_is_nothing() -> None:
    assert [] == list(changes(Config(kafka=(KAFKA,)), Config(kafka=(KAFKA,))))


def test_every_change_is_named() -> None:
    changed = KAFKA.model_copy(update={"interval": 30.0, "topics": Filter(deny=("a", "b")), "expected_brokers": 3})
    before = Config(kafka=(KAFKA,), rabbitmq=(RABBIT,))
    after = Config(
        kafka=(changed, KAFKA.model_copy(update={"cluster": "new"})),
        web=Web(listen_address=":1"),
        log=Log(level="debug"),
    )
    assert [
        "kafka/new: added",
        "rabbitmq/tasks: removed",
        "kafka/orders: interval 15.0 -> 30.0",
        "kafka/orders: topics.deny [__consumer_offsets, __transaction_state, __share_group_state] -> [a, b]",
        "kafka/orders: expected_brokers nothing -> 3",
        "web.listen_address 127.0.0.1:9977 -> :1 (counts from the next start)",
        "log.level info -> debug",
    ] == list(changes(before, after))


def test_what_may_be_secret_is_not_shown() -> None:
    other = RABBIT.model_copy(update={"url_password": SecretStr("hunter3"), "cli_env": {"COOKIE": "hunter4"}})
    kafka = KAFKA.model_copy(update={"client": {"sasl_username": "x"}, "secrets": {"sasl_password": Secret(env="X")}})
    told = list(changes(Config(kafka=(KAFKA,), rabbitmq=(RABBIT,)), Config(kafka=(kafka,), rabbitmq=(other,))))
    assert [
        "kafka/orders: client changed",
        "kafka/orders: secrets changed",
        "rabbitmq/tasks: url_password changed",
        "rabbitmq/tasks: cli_env changed",
    ] == told


def test_without_a_file_there_is_nothing_to_reload() -> None:
    reloader = Reloader(poller_of({"a": lambda: snapshot("a")}), None, StateLog())
    assert Outcome(True, "nothing to reload: started without --config FILE") == reloader.reload()


def test_a_fault_leaves_everything_as_it_was(caplog: pytest.LogCaptureFixture) -> None:
    poller = poller_of({"a": lambda: snapshot("a")})

    def load() -> Config:
        raise RuntimeError("boom")

    with caplog.at_level(logging.ERROR):
        assert not Reloader(poller, load, StateLog()).reload().succeeded
    assert "fault of the exporter" in caplog.text
    assert not poller.reload_succeeded
    assert ["a"] == list(poller.clusters)
