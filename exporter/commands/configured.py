"""From options to a configuration: the file or the quick start, then what the command line says on top."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from exporter.clients.reader import Reader
from exporter.config.addresses import check_listen_address
from exporter.config.load import load
from exporter.config.mistakes import ConfigError, Mistake
from exporter.config.model import Config, Kafka, RabbitMQ
from exporter.config.quick import KAFKA_PASSWORD_ENV, PASSWORD_ENV, every_option, quick
from exporter.config.web import load_web


def loader(arguments: argparse.Namespace) -> Callable[[], Config]:
    """Reads the configuration, now and at each reload. It raises ConfigError."""

    def read() -> Config:
        beside = list(every_option(arguments.options))
        if arguments.config is not None and beside:
            text = f"give either --config or {', '.join(beside)}: clusters of a file are described in the file"
            raise ConfigError([Mistake("command line", None, None, "", text)])
        config = quick(arguments.options) if arguments.config is None else load(arguments.config)
        config = _overridden(config, arguments)
        if config.web.config_file is not None:
            load_web(config.web.config_file)  # a reload takes the whole or nothing: this is a part of it
        return config

    return read


def _overridden(config: Config, arguments: argparse.Namespace) -> Config:
    """The configuration with what the command line says about serving and logging."""
    said = vars(arguments)
    address = said.get("listen_address")
    if address is not None:
        try:
            check_listen_address(address)
        except ValueError as error:
            raise ConfigError([Mistake("--web.listen-address", None, None, "", str(error))]) from None
    web = {
        "listen_address": address,
        "enable_lifecycle": said.get("enable_lifecycle"),
        "config_file": said.get("web_config_file"),
    }
    log = {"level": said.get("log_level"), "format": said.get("log_format")}
    hidden = {"other_secrets": secret_variables(config)}
    return config.model_copy(
        update={
            "web": config.web.model_copy(update=_given(web)),
            "log": config.log.model_copy(update=_given(log)),
            "rabbitmq": tuple(entry.model_copy(update=hidden) for entry in config.rabbitmq),
        }
    )


def secret_variables(config: Config) -> tuple[str, ...]:
    """The environment variables that hold secrets of any cluster."""
    secrets = [secret for kafka in config.kafka for secret in kafka.secrets.values()]
    secrets += [entry.password for entry in config.rabbitmq if entry.password is not None]
    return tuple(
        sorted({secret.env for secret in secrets if secret.env is not None} | {PASSWORD_ENV, KAFKA_PASSWORD_ENV})
    )


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def readers(section: Kafka | RabbitMQ) -> Reader:
    """The reader of a cluster. Imported only when needed: one system's client is no burden to the other's users."""
    if isinstance(section, Kafka):
        from exporter.clients.kafka.reader import KafkaReader

        return KafkaReader(section)
    from exporter.clients.rabbitmq.reader import RabbitReader

    return RabbitReader(section)
