"""A Kafka topic of the run's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from drills.faults.change import Change
from drills.lab.waiting import wait_for
from drills.targets.kafka_admin import admin, names
from drills.targets.target import KafkaAddresses, Target, TargetError

SECONDS = 30.0  # until each partition has a leader and all its replicas, or the topic is gone
GONE = "UnknownTopicOrPartitionError"


@dataclass(frozen=True)
class Topic(Change):
    """`least` is its min.insync.replicas, set on the topic: the brokers' own value need not count.

