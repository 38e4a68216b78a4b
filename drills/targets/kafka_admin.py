"""Kafka by kafka-python, for what the driver itself reads and changes.

librdkafka's AdminClient was seen to end the whole process on an assertion around a broker's restart
(confluentinc/librdkafka#4605): a driver that has faults to undo must not be that process.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from drills.targets.target import KafkaAddresses, TargetError

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # kafka-python reads its schemas by a deprecated function
    from kafka import KafkaAdminClient, KafkaConsumer, OffsetAndMetadata, TopicPartition
    from kafka.admin import ConfigResource
    from kafka.errors import KafkaError, for_code

SECONDS = 10.0  # for one answer
GONE = "UnknownTopicOrPartitionError"
OPEN = 15.0  # seconds until some broker answers
NAMES = {
    "sasl.username": "sasl_plain_username",
    "sasl.password": "sasl_plain_password",
    "sasl.mechanisms": "sasl_mechanism",
    "ssl.ca.location": "ssl_cafile",
    "ssl.certificate.location": "ssl_certfile",
    "ssl.key.location": "ssl_keyfile",
}
"""librdkafka's name -> kafka-python's, where it is not the same with underscores for dots."""

__all__ = ["OffsetAndMetadata", "TopicPartition", "admin", "described", "names", "properties", "reader", "settings"]


def properties(client: Mapping[str, Any]) -> dict[str, Any]:
    """The properties of a client that librdkafka takes, as kafka-python's arguments."""
    found = {NAMES.get(name, name.replace(".", "_")): value for name, value in client.items()}
    return {**found, "bootstrap_servers": str(found["bootstrap_servers"]).split(",")}


@contextlib.contextmanager
def admin(addresses: KafkaAddresses) -> Iterator[Any]:
    """A KafkaAdminClient for the block. Raises TargetError for what goes wrong in it."""
    patience = {"request_timeout_ms": int(SECONDS * 1000), "bootstrap_timeout_ms": int(OPEN * 1000)}
    with _told(addresses), contextlib.closing(KafkaAdminClient(**properties(addresses.client), **patience)) as client:
        yield client


@contextlib.contextmanager
def reader(addresses: KafkaAddresses, isolation: str = "read_uncommitted") -> Iterator[Any]:
    """A KafkaConsumer without a group for the block: it commits nothing. Raises TargetError for what fails in it."""
    given = {
        "group_id": None, "enable_auto_commit": False, "allow_auto_create_topics": False, "fetch_max_wait_ms": 100,
        "request_timeout_ms": int(SECONDS * 1000), "bootstrap_timeout_ms": int(OPEN * 1000),
        "auto_offset_reset": "none", "isolation_level": isolation,
    }  # fmt: skip
    with _told(addresses), contextlib.closing(KafkaConsumer(**properties(addresses.client), **given)) as client:
        yield client


@contextlib.contextmanager
def _told(addresses: KafkaAddresses) -> Iterator[None]:
    try:
        yield
    except (KafkaError, OSError, TimeoutError) as error:
        raise TargetError(f"Kafka at {addresses.bootstrap}: {type(error).__name__}: {error}") from error


def names(code: int) -> str:
    """The name of an error code, such as TopicAlreadyExistsError; "" for none."""
    return "" if code == 0 else str(for_code(code).__name__)


def described(addresses: KafkaAddresses, name: str) -> list[dict[str, Any]] | None:
    """The partitions of a topic as the brokers tell them now, in their order; None when there is no such topic.

    Raises TargetError.
    """
    with admin(addresses) as client:
        [found] = client.describe_topics([name])
    code = names(found["error_code"])
    if code == GONE:
        return None
    if code:
        raise TargetError(f"topic {name} can't be described: {code}")
    return sorted(found["partitions"], key=lambda one: int(one["partition_index"]))


def settings(client: Any, topics: Iterable[str]) -> dict[str, dict[str, str | None]]:
    """Topic -> setting -> the value in force, defaults included; a topic that is gone meanwhile has none."""
    asked = [ConfigResource("TOPIC", name) for name in topics]
    told = client.describe_configs(asked, config_filter="all").get("topic", {}) if asked else {}
    return {name: {key: one["value"] for key, one in found.items()} for name, found in told.items()}
