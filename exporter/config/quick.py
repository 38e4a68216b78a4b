"""A configuration from command-line options alone: `--kafka HOST:PORT --rabbitmq URL`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import yaml

from exporter.clients.kafka.properties import standard_name
from exporter.config.document import Document
from exporter.config.load import validate
from exporter.config.mistakes import ConfigError, Mistake
from exporter.config.model import Config

PASSWORD_ENV = "MQ_RABBITMQ_PASSWORD"  # noqa: S105 - a variable's name
KAFKA_PASSWORD_ENV = "MQ_KAFKA_PASSWORD"  # noqa: S105
NAMED = re.compile(r"([^=:/@\s\[\]]+)=(.*)", re.S)


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line says about clusters."""

    kafka: Sequence[str] = ()
    kafka_properties: Sequence[str] = ()
    rabbitmq: Sequence[str] = ()
    rabbitmq_password_file: Path | None = None
    interval: str | None = None


def quick(options: Options) -> Config:
    """The configuration that these options mean. Raises ConfigError that name the option."""
    properties, mistakes = _properties(options.kafka_properties)
    mistakes += [_password_in(value) for value in options.rabbitmq if ":" in _login(value)]
    kafka = [_kafka(value, properties, options) for value in options.kafka]
    rabbitmq = [_rabbitmq(value, options) for value in options.rabbitmq]
    document = Document("command line", {"kafka": kafka, "rabbitmq": rabbitmq})
    try:
        config = validate(document)
    except ConfigError as error:
        mistakes += [_as_option(mistake, options) for mistake in error.mistakes]
    if mistakes:
        raise ConfigError(list(dict.fromkeys(mistakes)))
    return config


def _named(value: str) -> tuple[dict[str, Any], str]:
    match = NAMED.fullmatch(value)
    return ({"cluster": match[1]}, match[2]) if match else ({}, value)


def _kafka(value: str, properties: dict[str, Any], options: Options) -> dict[str, Any]:
    entry, servers = _named(value)
    entry |= {"bootstrap_servers": [server.strip() for server in servers.split(",") if server.strip()]}
    if properties:
        entry["client"] = properties
    mechanism = str({standard_name(name): value for name, value in properties.items()}.get("sasl_mechanism", ""))
    if mechanism.upper() == "PLAIN" or mechanism.upper().startswith("SCRAM"):
        entry["secrets"] = {"sasl_plain_password": {"env": KAFKA_PASSWORD_ENV}}
    return entry | _pace(options)


def _pace(options: Options) -> dict[str, str]:
    return {"interval": options.interval} if options.interval is not None else {}


def _rabbitmq(value: str, options: Options) -> dict[str, Any]:
    entry, url = _named(value)
    scheme, slashes, rest = url.partition("://")
    login, _, address = rest.rpartition("@")  # not urlsplit: people leave `/` and `#` in passwords unescaped
    user = login.partition(":")[0]
    entry |= {"urls": [scheme + slashes + address]} | _pace(options)
    if user:
        entry["username"] = unquote(user)
    if options.rabbitmq_password_file is not None:
        entry["password"] = {"file": str(options.rabbitmq_password_file)}
    elif PASSWORD_ENV in os.environ:
        entry["password"] = {"env": PASSWORD_ENV}
    return entry


def _login(value: str) -> str:
    """All of the URL before its host."""
    return _named(value)[1].partition("://")[2].rpartition("@")[0]


def _password_in(value: str) -> Mistake:
    what = (
        "a password in the URL is seen by every user of this machine; leave it out, and set "
        f"{PASSWORD_ENV} or give --rabbitmq-password-file FILE"
    )
    return Mistake(f"--rabbitmq {_scrubbed(value)}", None, None, "", what)


def _properties(pairs: Sequence[str]) -> tuple[dict[str, Any], list[Mistake]]:
    """Properties with their values read as YAML would: 5 is a number, true a truth value."""
    found: dict[str, Any] = {}
    mistakes = []
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            what = "expected NAME=VALUE, such as security_protocol=SSL"
            mistakes.append(Mistake("--kafka-property", None, None, "", what))
            continue
        found[name.strip()] = _scalar(text)
    return found, mistakes


def _scalar(text: str) -> Any:
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        return text
    return value if isinstance(value, (str, int, float, bool)) else text


def _as_option(mistake: Mistake, options: Options) -> Mistake:
    """The mistake told in terms of the options that led to it."""
    return replace(mistake, origin=_origin(mistake.key, options), line=None, column=None, **_reworded(mistake))


def _origin(key: str, options: Options) -> str:
    entry = re.match(r"(kafka|rabbitmq)\[(\d+)\]\.?(\w*)\.?(.*)", key)
    if entry is None:
        return "command line"
    if entry[3] in {"client", "secrets"}:
        return f"--kafka-property {entry[4]}" if entry[3] == "client" and entry[4] else "--kafka-property"
    if entry[3] == "password":
        return "--rabbitmq-password-file"
    if entry[3] == "interval":
        return "--interval"
    values = options.kafka if entry[1] == "kafka" else options.rabbitmq
    return f"--{entry[1]} {_scrubbed(values[int(entry[2])])}"


def _scrubbed(value: str) -> str:
    """The option's value without what may be a password: everything before the last `@`."""
    name, rest = _named(value)
    label = f"{name['cluster']}=" if name else ""
    return value if "@" not in rest else f"{label}[...]@{rest.rpartition('@')[2]}"


def _reworded(mistake: Mistake) -> dict[str, str]:
    key, text = mistake.key, mistake.text
    if "cluster:` name" in text:
        text = f"{text.partition(' ')[0]} names two clusters; name them: --kafka NAME=HOST:PORT, --rabbitmq NAME=URL"
    elif key.endswith(".username"):
        text = f"a user without a password; set {PASSWORD_ENV} or give --rabbitmq-password-file FILE"
    elif "a secret in plain text" in text:
        text = f"a secret on the command line is seen by every user of this machine; set {KAFKA_PASSWORD_ENV} instead"
    elif "add a `kafka:`" in text:
        text = "no cluster to watch: give --kafka HOST:PORT, --rabbitmq URL or --config FILE"
    return {"key": "", "text": text}


def every_option(options: Options) -> Iterator[str]:
    """The cluster options that were given, for refusing them beside --config."""
    given = {
        "--kafka": options.kafka,
        "--kafka-property": options.kafka_properties,
        "--rabbitmq": options.rabbitmq,
        "--rabbitmq-password-file": options.rabbitmq_password_file,
        "--interval": options.interval,
    }
    return (name for name, value in given.items() if value)
