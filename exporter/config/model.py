"""The shape of the configuration. Unknown keys are refused; all values are frozen."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, SecretStr, model_validator

from exporter.config.addresses import check_bootstrap, check_listen_address, check_management_url
from exporter.config.objectives import KafkaObjectives, RabbitMQObjectives
from exporter.config.section import Duration, Pattern, Section, Size

Bootstrap = Annotated[str, AfterValidator(check_bootstrap)]
ManagementURL = Annotated[str, AfterValidator(check_management_url)]
ListenAddress = Annotated[str, AfterValidator(check_listen_address)]


class Filter(Section):
    """Names to look at: those that match an `allow` pattern (whole name) and no `deny` pattern."""

    allow: tuple[Pattern, ...] = (".*",)
    """Regular expressions; a name must match one of them as a whole."""
    deny: tuple[Pattern, ...] = ()
    """Regular expressions; a name that matches one of them as a whole is not asked for at all."""

    def admits(self, name: str) -> bool:
        """Whether this name is to be asked for at all."""
        match = re.fullmatch
        return any(match(p, name, re.S) for p in self.allow) and not any(match(p, name, re.S) for p in self.deny)


class Secret(Section):
    """A secret by reference: the path of a file, or the name of an environment variable. Read anew at each login."""

    file: Path | None = None
    """A file that holds nothing but the secret; a newline at its end is ignored."""
    env: str | None = None
    """The environment variable that holds the secret."""

    @model_validator(mode="after")
    def exactly_one(self) -> Secret:
        """Refuse none and both."""
        if (self.file is None) == (self.env is None):
            raise ValueError("give either `file: PATH` or `env: NAME`; secrets are never written in this file")
        return self


class KafkaDeadLetters(Section):
    """Which topics hold dead letters. `handlers` names the group that reads a topic, where several do."""

    patterns: tuple[Pattern, ...] = (r"(?i).*[._-](dlq|dlt|dead-?letters?|dead)", r"dlq\..*")
    """Topics whose whole name matches one of these hold dead letters."""
    topics: tuple[str, ...] = ()
    """Further topics that hold dead letters, by name."""
    handlers: dict[str, str] = {}
    """Topic to the group that deals with its dead letters, where several groups read it."""
    sources: dict[str, str] = {}
    """Topic to what feeds it, for `mq_dlq_source_info`."""


class Kafka(Section):
    """One Kafka cluster. `client` passes properties to the connection (kafka-python's names, `.` or `_`)."""

    cluster: str = "kafka"
    """The name of the cluster: the label `cluster` of every sample."""
    bootstrap_servers: tuple[Bootstrap, ...] = Field(min_length=1)
    """Brokers to ask first, HOST:PORT."""
    client: dict[str, str | int | float | bool] = {}
    """Properties of the connection, with kafka-python's names (`security_protocol`, `sasl_mechanism`, ...)."""
    secrets: dict[str, Secret] = {}
    """Property of the connection to where its secret value is (`sasl_plain_password`, `ssl_password`, ...)."""
    interval: Duration = 15.0
    """Time between two polls."""
    slow_interval: Duration = 60.0
    """Time between two reads of topic configurations, log directories and the controller quorum."""
    timeout: Duration = 5.0
    """Longest wait for one request."""
    topics: Filter = Filter(deny=("__consumer_offsets", "__transaction_state", "__share_group_state"))
    """Topics to look at."""
    groups: Filter = Filter()
    """Groups to look at."""
    granularity: Literal["partition", "topic"] = "partition"
    """`topic` leaves out the families of groups that have one series for each partition."""
    max_series: int = Field(default=1_000_000, ge=100)
    """The most series this cluster may have; the highest lags are kept and the number dropped is published."""
    ages: Literal["exact", "estimate", "off"] = "exact"
    """How to find the age of the oldest unread message: by reading records, by interpolation only, or not at all."""
    age_budget: Duration = 3.0
    """Time that one poll may spend on reading records for ages; what is left is interpolated meanwhile."""
    abandoned_after: Duration = 7 * 86400.0
    """A group without members and commits for this long leaves the per-partition families."""
    disk_free_limit: Size = 0.05
    """Free space of a log directory below which `mq_disk_alarm` is 1: a size, or a share of the disk."""
    expected_brokers: int | None = Field(default=None, ge=1)
    """How many brokers there should be, so that a missing one is seen."""
    expected_groups: tuple[str, ...] = ()
    """Groups that should exist."""
    dead_letters: KafkaDeadLetters = KafkaDeadLetters()
    """Which topics hold dead letters."""
    objectives: KafkaObjectives = KafkaObjectives()
    """What is meant to be, for `mq_objective_*`."""


class RabbitMQ(Section):
    """One RabbitMQ cluster, by the management URL of one or more of its nodes (tried in this order)."""

    cluster: str = "rabbitmq"
    """The name of the cluster: the label `cluster` of every sample."""
    urls: tuple[ManagementURL, ...] = Field(min_length=1)
    """Management URLs of its nodes, tried in this order, without user and password."""
    username: str = "guest"
    """A user with the tag `monitoring`."""
    password: Secret | None = None
    """Where the password is; without it, `guest`."""
    url_password: SecretStr | None = None  # for callers in Python; no file and no option sets it
    other_secrets: tuple[str, ...] = ()  # environment variables with secrets of any cluster: not for `cli`
    ca_file: Path | None = None
    """Certificates (PEM) to trust for https, instead of the system's."""
    client_cert_file: Path | None = None
    """Client certificate (PEM)."""
    client_key_file: Path | None = None
    """Key of the client certificate (PEM)."""
    insecure_skip_verify: bool = False
    """Accept any server certificate. For trying things out."""
    interval: Duration = 15.0
    """Time between two polls."""
    slow_interval: Duration = 60.0
    """Time between two reads of exchanges, bindings and policies."""
    timeout: Duration = 5.0
    """Longest wait for one request."""
    vhosts: Filter = Filter()
    """Virtual hosts to look at."""
    queues: Filter = Filter()
    """Queues to look at."""
    max_series: int = Field(default=1_000_000, ge=100)
    """The most series this cluster may have; the number dropped is published."""
    node_metrics: bool = True
    """Ask each node's own Prometheus endpoint too. They are discovered."""
    node_metrics_urls: dict[str, ManagementURL] = {}
    """Node name to the URL of its Prometheus endpoint, where the discovered address can't be reached."""
    cli: tuple[str, ...] = ()
    """A command that runs rabbitmqctl with the cluster's cookie, word by word: exact ages of quorum queues."""
    cli_env: dict[str, str] = {}
    """Environment variables for that command."""
    expected_nodes: int | None = Field(default=None, ge=1)
    """How many nodes there should be, so that a missing one is seen."""
    objectives: RabbitMQObjectives = RabbitMQObjectives()
    """What is meant to be, for `mq_objective_*`."""


class Web(Section):
    """Where the exporter serves. `config_file` is Prometheus' own web configuration (TLS, basic auth)."""

    listen_address: ListenAddress = "127.0.0.1:9977"
    """HOST:PORT, [IPV6]:PORT, or :PORT for every interface."""
    enable_lifecycle: bool = False
    """Allow `POST /-/reload`."""
    config_file: Path | None = None
    """Prometheus' own web configuration file (TLS, basic authentication)."""


class Log(Section):
    """How the exporter logs."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    """The least severe message that is written."""
    format: Literal["text", "json"] = "text"
    """Text for a terminal, or JSON lines."""


class Config(Section):
    """The whole file."""

    kafka: tuple[Kafka, ...] = ()
    """Kafka clusters."""
    rabbitmq: tuple[RabbitMQ, ...] = ()
    """RabbitMQ clusters."""
    web: Web = Web()
    """The HTTP server."""
    log: Log = Log()
    """The log, on standard error."""
    state_dir: Path | None = None
    """A folder for the history that estimates need, so that it survives a restart."""

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
