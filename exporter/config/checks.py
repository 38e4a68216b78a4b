"""Mistakes that the shape of the configuration cannot show: doubled names, plain secrets, files that are not there."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Any

from exporter.clients.kafka.properties import check_client, standard_name
from exporter.config.document import Document, unreadable
from exporter.config.explain import NOT_IN_FILES
from exporter.config.mistakes import Mistake, Path

SECRET_NAME = re.compile(r"(?i)(^|[._-])(pass|password|passphrase|secret|token)$")
FILE_KEYS = ("ca_file", "client_cert_file", "client_key_file")


def entries(data: Any, system: str) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Each entry of `kafka:` or `rabbitmq:` that has the right shape, with its path."""
    listed = data.get(system) if isinstance(data, dict) else None
    for number, entry in enumerate(listed if isinstance(listed, list) else []):
        if isinstance(entry, dict):
            yield (system, number), entry


def doubled_clusters(document: Document) -> Iterator[Mistake]:
    """Clusters of one name: their series would collide."""
    first: dict[str, Path] = {}
    for system in ("kafka", "rabbitmq"):
        for path, entry in entries(document.data, system):
            name = entry.get("cluster", system)
            if not isinstance(name, str):
                continue
            if name in first:
                line = document.mistake(first[name], "").line
                where = f" in line {line}" if line is not None else ""
                said = "is also the name of" if "cluster" in entry else "is the default name, also of"
                text = f"{name!r} {said} the cluster{where}; give each its own `cluster:` name"
                yield document.mistake((*path, "cluster"), text)
            first.setdefault(name, path)


def plain_secrets(document: Document) -> Iterator[Mistake]:
    """Secrets written in the file. The text never repeats them."""
    for path, entry in entries(document.data, "kafka"):
        for name in _mapping(entry, "client"):
            if SECRET_NAME.search(name):
                text = (
                    "a secret in plain text; delete it here and write, in the same entry, "
                    f"`secrets: {{{name}: {{file: PATH}}}}` (or `env: NAME`)"
                )
                yield document.mistake((*path, "client", name), text)


def keys_not_for_files(document: Document) -> Iterator[Mistake]:
    """Keys that only the command line may set."""
    for path, entry in entries(document.data, "rabbitmq"):
        for key in sorted(NOT_IN_FILES & entry.keys()):
            text = "a secret in plain text; write `password: {file: PATH}` instead"
            yield document.mistake((*path, key), text if key == "url_password" else "not a key of the file")


def incomplete_logins(document: Document) -> Iterator[Mistake]:
    """Halves of a login: a user without password, a certificate without its key."""
    for path, entry in entries(document.data, "rabbitmq"):
        has_password = "password" in entry or "url_password" in entry
        if entry.get("username", "guest") != "guest" and not has_password:
            text = "a user without a password; add `password: {file: PATH}` (or `env: NAME`)"
            yield document.mistake((*path, "username"), text)
        for one, other in (("client_cert_file", "client_key_file"), ("client_key_file", "client_cert_file")):
            if entry.get(one) is not None and entry.get(other) is None:
                yield document.mistake((*path, one), f"needs `{other}` beside it")


def wrong_properties(document: Document) -> Iterator[Mistake]:
    """Properties that the Kafka connection does not know or cannot use, by the connection's own word."""
    for path, entry in entries(document.data, "kafka"):
        given = {
            name: value for name, value in _mapping(entry, "client").items() if not isinstance(value, (dict, list))
        }
        client = {name: value for name, value in given.items() if not SECRET_NAME.search(name)}
        secrets = [*_mapping(entry, "secrets"), *(given.keys() - client.keys() - _mapping(entry, "secrets").keys())]
        for sentence in check_client(client, secrets):
            yield document.mistake((*path, *_property(sentence, entry)), sentence)


def _property(sentence: str, entry: dict[str, Any]) -> Path:
    """Which property a sentence is about: the last part in which one of its names occurs; else all of them."""
    for part in ("secrets", "client"):
        for name in _mapping(entry, part):
            if re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.])|\b{standard_name(name)}\b", sentence):
                return (part, name)
    return ("client",)


def missing_files(document: Document) -> Iterator[Mistake]:
    """Files and environment variables that the configuration names and that are not there."""
    for path, entry in entries(document.data, "kafka"):
        for name, reference in _mapping(entry, "secrets").items():
            yield from _secret(document, (*path, "secrets", name), reference)
    for path, entry in entries(document.data, "rabbitmq"):
        yield from _secret(document, (*path, "password"), entry.get("password"))
        for key in FILE_KEYS:
            yield from _file(document, (*path, key), entry.get(key))
    yield from _file(document, ("web", "config_file"), _mapping(document.data, "web").get("config_file"))


def _mapping(data: Any, key: str) -> dict[str, Any]:
    value = data.get(key) if isinstance(data, dict) else None
    return value if isinstance(value, dict) else {}


def _secret(document: Document, path: Path, reference: Any) -> Iterator[Mistake]:
    if not isinstance(reference, dict):
        return
    name = reference.get("env")
    if isinstance(name, str) and "file" not in reference and name not in os.environ:
        yield document.mistake((*path, "env"), f"the environment variable {name} is not set")
    if "env" not in reference:
        yield from _file(document, (*path, "file"), reference.get("file"))


def _file(document: Document, path: Path, name: Any) -> Iterator[Mistake]:
    if isinstance(name, str) and (why := unreadable(FilePath(name))):
        yield document.mistake(path, why)
