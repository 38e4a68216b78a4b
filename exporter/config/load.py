"""A YAML file to a Config, or every mistake in it at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from exporter.config import checks
from exporter.config.document import Document, read
from exporter.config.explain import explain
from exporter.config.mistakes import ConfigError, Mistake
from exporter.config.model import Config
from exporter.config.web import load_web

EMPTY = """the file says nothing; a small one is

    kafka:
      - cluster: orders
        bootstrap_servers: [kafka-1:9092]"""
PATH_KEYS = (*checks.FILE_KEYS, "config_file", "state_dir", "file")


def load(path: Path, check_files: bool = True) -> Config:
    """The configuration in this file. Raises ConfigError.

    Relative paths in it are meant from the file's own folder. With `check_files`, files and environment variables
    that it names have to be there.
    """
    document = read(path)
    if document.data is None:
        raise ConfigError([Mistake(str(path), None, None, "", EMPTY)])
    _anchor(document.data, path.absolute().parent)
    document.mistakes += checks.keys_not_for_files(document)
    return validate(document, check_files)


def validate(document: Document, check_files: bool = True) -> Config:
    """The configuration that this document describes. Raises ConfigError with all that is wrong."""
    mistakes = [*document.mistakes, *_beyond_shape(document, check_files)]
    try:
        config = Config.model_validate(document.data)
    except ValidationError as error:
        known = {mistake.key for mistake in mistakes}
        shape = [mistake for mistake in explain(error, document) if mistake.key not in known]
        told = any("cluster:` name" in mistake.text for mistake in mistakes)
        mistakes += [mistake for mistake in shape if mistake.key or not told]  # the model says it without the line
        raise ConfigError(mistakes) from None
    if check_files and config.web.config_file is not None and not mistakes:
        load_web(config.web.config_file)
    if mistakes:
        raise ConfigError(mistakes)
    return config


def _beyond_shape(document: Document, check_files: bool) -> Iterator[Mistake]:
    rules: list[Callable[[Document], Iterator[Mistake]]] = [
        checks.doubled_clusters,
        checks.plain_secrets,
        checks.incomplete_logins,
        checks.wrong_properties,
    ]
    if check_files:
        rules.append(checks.missing_files)
    for rule in rules:
        yield from rule(document)


def _anchor(data: Any, folder: Path) -> None:
    """Make the paths in the data absolute, in place."""
    if isinstance(data, list):
        for item in data:
            _anchor(item, folder)
    elif isinstance(data, dict):
        for key, value in data.items():
            if key in PATH_KEYS and isinstance(value, str):
                data[key] = str(folder / value)
            elif key != "client":
                _anchor(value, folder)
