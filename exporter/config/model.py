"""The shape of the configuration. Unknown keys are refused; all values are frozen."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, model_validator

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def parse_duration(value: object) -> float:
    """Seconds from `15s`, `250ms`, `7d` or a plain number of seconds."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError("expected a duration such as 15s, 5m or 7d")
    if isinstance(value, (int, float)):
        return float(value)
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", value.strip())
    if match is None:
        raise ValueError(f"expected a duration such as 15s, 5m or 7d, got {value!r}")
    return float(match[1]) * UNITS[match[2]]


def parse_size(value: object) -> int | float:
    """Bytes from `10GiB`, `500MB` or a number; a share of the disk (0 to 1) from `5%`."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(%|B|[kMGT]i?B)", str(value).strip())
    if match is None:
        raise ValueError(f"expected a size such as 10GiB, or a share of the disk such as 5%, got {value!r}")
    if match[2] == "%":
        return float(match[1]) / 100
    power = "BkMGT".index(match[2][0]) if match[2] != "B" else 0
    return int(float(match[1]) * (1024 if "i" in match[2] else 1000) ** power)


def check_pattern(value: str) -> str:
    """A regular expression that must match the whole name. Raises ValueError when it does not compile."""
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"{value!r} is not a regular expression: {error}") from None
    return value


Duration = Annotated[float, BeforeValidator(parse_duration), Field(gt=0)]
Size = Annotated[int | float, BeforeValidator(parse_size), Field(ge=0)]
Pattern = Annotated[str, AfterValidator(check_pattern)]


class Section(BaseModel):
    """A part of the file: no unknown keys, no change after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class Filter(Section):
    """Names to look at: those that match an `allow` pattern (whole name) and no `deny` pattern."""

    allow: tuple[Pattern, ...] = (".*",)
    deny: tuple[Pattern, ...] = ()

    def admits(self, name: str) -> bool:
        """Whether this name is to be asked for at all."""
        match = re.fullmatch
        return any(match(p, name, re.S) for p in self.allow) and not any(match(p, name, re.S) for p in self.deny)


class Secret(Section):
    """A secret by reference: the path of a file, or the name of an environment variable. Read anew at each login."""

    file: Path | None = None
    env: str | None = None

    @model_validator(mode="after")
    def exactly_one(self) -> Secret:
        """Refuse none and both."""
        if (self.file is None) == (self.env is None):
            raise ValueError("give either `file: PATH` or `env: NAME`; secrets are never written in this file")
        return self


class KafkaDeadLetters(Section):
    """Which topics hold dead letters. `handlers` names the group that reads a topic, where several do."""

    patterns: tuple[Pattern, ...] = (r"(?i).*[._-](dlq|dlt|dead-?letters?|dead)", r"dlq\..*")
    topics: tuple[str, ...] = ()
    handlers: dict[str, str] = {}
    sources: dict[str, str] = {}


class Kafka(Section):
    """One Kafka cluster. `client` passes properties to the connection (kafka-python's names, `.` or `_`)."""

    cluster: str = "kafka"
    bootstrap_servers: tuple[str, ...] = Field(min_length=1)
    client: dict[str, str | int | float | bool] = {}
    secrets: dict[str, Secret] = {}  # client property -> where its value is
    interval: Duration = 15.0
    slow_interval: Duration = 60.0  # topic configurations, log directories, quorum
    timeout: Duration = 5.0  # of one request
    topics: Filter = Filter(deny=("__consumer_offsets", "__transaction_state", "__share_group_state"))
    groups: Filter = Filter()
    granularity: Literal["partition", "topic"] = "partition"
    max_series: int = Field(default=1_000_000, ge=100)
    ages: Literal["exact", "estimate", "off"] = "exact"
    age_budget: Duration = 3.0  # time that one poll may spend reading records for ages
    abandoned_after: Duration = 7 * 86400.0
    disk_free_limit: Size = 0.05
    expected_brokers: int | None = Field(default=None, ge=1)
    expected_groups: tuple[str, ...] = ()
    dead_letters: KafkaDeadLetters = KafkaDeadLetters()


class RabbitMQ(Section):
    """One RabbitMQ cluster, by the management URL of one or more of its nodes (tried in this order)."""

    cluster: str = "rabbitmq"
    urls: tuple[str, ...] = Field(min_length=1)
    username: str = "guest"
    password: Secret | None = None  # None: guest
    url_password: SecretStr | None = None  # set by the command line from `http://user:password@host`
    ca_file: Path | None = None
    client_cert_file: Path | None = None
    client_key_file: Path | None = None
    insecure_skip_verify: bool = False
    interval: Duration = 15.0
    slow_interval: Duration = 60.0  # bindings, policies, exchanges
    timeout: Duration = 5.0
    vhosts: Filter = Filter()
    queues: Filter = Filter()
    max_series: int = Field(default=1_000_000, ge=100)
    node_metrics: bool = True  # per-node Prometheus endpoints, discovered
    node_metrics_urls: dict[str, str] = {}  # node name -> URL, where the discovered address can't be reached
    cli: tuple[str, ...] = ()  # command that runs rabbitmqctl with the cluster's cookie: exact quorum-queue ages
    cli_env: dict[str, str] = {}
    expected_nodes: int | None = Field(default=None, ge=1)


class Web(Section):
    """Where the exporter serves. `config_file` is Prometheus' own web configuration (TLS, basic auth)."""

    listen_address: str = "127.0.0.1:9977"
    enable_lifecycle: bool = False
    config_file: Path | None = None


class Log(Section):
    """How the exporter logs."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["text", "json"] = "text"


class Config(Section):
    """The whole file."""

    kafka: tuple[Kafka, ...] = ()
    rabbitmq: tuple[RabbitMQ, ...] = ()
    web: Web = Web()
    log: Log = Log()
    state_dir: Path | None = None

    @model_validator(mode="after")
    def distinct_clusters(self) -> Config:
        """Refuse two clusters of one name: their series would collide."""
        names = [kafka.cluster for kafka in self.kafka] + [rabbitmq.cluster for rabbitmq in self.rabbitmq]
        doubled = sorted({name for name in names if names.count(name) > 1})
        if doubled:
            raise ValueError(f"two clusters are called {', '.join(doubled)}: give each its own `cluster:` name")
        if not names:
            raise ValueError("no cluster to watch: add a `kafka:` or a `rabbitmq:` entry")
        return self
