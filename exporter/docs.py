"""The reference pages, from the code: docs/metrics.md and docs/configuration.md. A test keeps them current."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from exporter import health
from exporter import metrics as metrics_package
from exporter.config.explain import NOT_IN_FILES, section_of
from exporter.config.model import Config
from exporter.config.section import UNITS, parse_duration, parse_size
from exporter.metrics import registry
from exporter.metrics.family import Family

METRICS_HEAD = """\
# Metrics

Every sample about a cluster carries `cluster`, the name from the configuration. What is not known is absent: never 0,
never -1, never NaN. Data older than three polling intervals is withheld, and `mq_exporter_collector_success` says so.

Written by `mq-exporter metrics-doc`; do not edit. A counter's name ends in `_total`, an info's in `_info` (always 1).
"""
CONFIGURATION_HEAD = """\
# Configuration

One YAML file, given with `--config FILE`. `mq-exporter check-config FILE` tells every mistake at once, with its line.
A commented example is in [examples/mq-exporter.yaml](../examples/mq-exporter.yaml).

- Unknown keys are refused.
- Times are written `15s`, `5m`, `7d` or as seconds; sizes `10GiB`, `500MB` or `5%` of the disk.
- Patterns are regular expressions that must match the whole name.
- Relative paths are meant from the folder of the file.
- Secrets never stand in the file: give `file: PATH` or `env: NAME`. They are read anew at each login.
- SIGHUP, and `POST /-/reload` where that is allowed, read the file again: the whole new configuration takes effect or
  none of it. `web.listen_address`, `web.config_file` and `state_dir` count from the next start.
- `--web.*` and `--log.*` on the command line win over the file.
- `web.config_file` is a file in Prometheus' own format. It is looked at for each connection, so that new certificates
  and users count at once; while it is wrong, the one before stays in force and the log says why; a reload is then
  refused. Its keys: `tls_server_config` (`cert_file`, `key_file`, `client_ca_file`, `client_auth_type`,
  `client_allowed_sans`, `min_version`, `max_version`, `cipher_suites`, `prefer_server_cipher_suites`,
  `curve_preferences` with one curve), `http_server_config` (`headers`) and `basic_auth_users` (user to bcrypt hash,
  from `htpasswd -nBC 10 USER`). What the format has beyond that (HTTP/2, `rate_limit`, certificates inline, client
  certificates that nobody verifies, TLS 1.0 and 1.1) is refused with a reason, and never ignored.

Written by `mq-exporter metrics-doc --configuration`; do not edit.
"""
MANY: dict[Any, str] = {tuple: "[]", dict: ".NAME"}
SYSTEMS = {"kafka": "Kafka", "rabbitmq": "RabbitMQ"}


def metrics() -> str:
    """docs/metrics.md."""
    parts = [METRICS_HEAD]
    for subject in registry.subjects():
        systems = " and ".join(SYSTEMS[system] for system in sorted(subject.systems))
        parts += _subject(f"{metrics_package.__name__}.{subject.name}", subject.families, systems)
    parts += _subject(health.__name__, health.FAMILIES, "every cluster; rendered at each scrape")
    return "\n".join(parts)


def _subject(module: str, families: Iterable[Family], systems: str) -> Iterator[str]:
    name = module.rpartition(".")[2]
    yield f"## {name.replace('_', ' ').capitalize()} ({systems})\n"
    yield f"{inspect.cleandoc(import_module(module).__doc__ or '')}\n"
    yield "| metric | type | labels | what it says |\n| --- | --- | --- | --- |"
    for family in families:
        labels = ", ".join(f"`{label}`" for label in family.labels)
        needs = f" **Needs** {family.requires}." if family.requires else ""
        yield f"| `{family.name}` | {family.kind} | {labels} | {_cell(family.help)}{_cell(needs)} |"
    yield ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|") if not text.startswith(" ") else " " + _cell(text.strip())


def configuration() -> str:
    """docs/configuration.md."""
    places: dict[type[BaseModel], list[str]] = {}
    for section, path in _sections(Config, ""):
        places.setdefault(section, []).append(path)
    return "\n".join([CONFIGURATION_HEAD, *(line for section in places for line in _section(section, places[section]))])


def _sections(section: type[BaseModel], path: str) -> Iterator[tuple[type[BaseModel], str]]:
    """A section and all within it, each with the path at which it stands: `kafka[].topics`."""
    yield section, path
    for name, field in _fields(section).items():
        below = section_of(field.annotation)
        if below is not None:
            many = MANY.get(get_origin(field.annotation), "")
            yield from _sections(below, f"{path}.{name}{many}" if path else f"{name}{many}")


def _fields(section: type[BaseModel]) -> dict[str, FieldInfo]:
    return {name: field for name, field in section.model_fields.items() if name not in NOT_IN_FILES}


def _section(section: type[BaseModel], paths: list[str]) -> Iterator[str]:
    """A table of the keys of a section."""
    yield f"## {', '.join(f'`{path}`' for path in paths if path) or 'The top level'}\n"
    yield f"{inspect.cleandoc(section.__doc__ or '')}\n"
    yield "| key | value | default | what it says |\n| --- | --- | --- | --- |"
    for name, field in _fields(section).items():
        yield f"| `{name}` | {_value(field)} | {_default(field)} | {_cell(field.description or '')} |"
    yield ""


def _value(field: FieldInfo) -> str:
    """What kind of value a key takes, in words."""
    return _kind(field.annotation, field.metadata)


def _kind(annotation: Any, metadata: Iterable[Any] = ()) -> str:
    readers = {one.func for one in metadata if isinstance(one, BeforeValidator)}
    if parse_duration in readers:
        return "time"
    if parse_size in readers:
        return "size or share"
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _kind(inner[0], annotation.__metadata__)
    if origin is Literal:
        return ", ".join(f"`{choice}`" for choice in inner)
    if origin is tuple:
        return f"list of {_kind(inner[0])}"
    if origin is dict:
        return f"{_kind(inner[0])} to {_kind(inner[1])}"
    kinds = list(dict.fromkeys(_kind(part) for part in inner if part is not type(None)))
    if origin is Union or inner:
        return kinds[0] if len(kinds) == 1 else "text, number or truth value"
    return _simple(annotation)


def _simple(annotation: Any) -> str:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        keys = _fields(annotation)
        return ", ".join(f"`{key}:`" for key in keys) if len(keys) < 5 else "entries, see below"
    words = {
        str: "text",
        int: "whole number",
        float: "number",
        bool: "`true`, `false`",
        Path: "path",
        SecretStr: "text",
    }
    return words[annotation]


def _default(field: FieldInfo) -> str:
    """The default as one would write it; `required` where there is none, nothing where it is empty."""
    if field.is_required() or field.default is PydanticUndefined:
        return "**required**"
    value = field.default
    if value is None or value in ((), {}) or isinstance(value, BaseModel):
        return _deviations(value) if isinstance(value, BaseModel) else ""
    if parse_duration in {one.func for one in field.metadata if isinstance(one, BeforeValidator)}:
        return f"`{_time(value)}`"
    if parse_size in {one.func for one in field.metadata if isinstance(one, BeforeValidator)}:
        return f"`{value:.0%}`" if isinstance(value, float) else f"`{value}`"
    if isinstance(value, tuple):
        return ", ".join(f"`{_cell(str(item))}`" for item in value)
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _deviations(section: BaseModel) -> str:
    """Where a section's default differs from that section's own defaults."""
    differing = section.model_dump(exclude_defaults=True)
    return "; ".join(f"`{key}`: {', '.join(f'`{item}`' for item in value)}" for key, value in differing.items())


def _time(seconds: float) -> str:
    unit = next((unit for unit in ("d", "h", "m") if seconds >= UNITS[unit] and seconds % UNITS[unit] == 0), "s")
    return f"{seconds / UNITS[unit]:g}{unit}"
