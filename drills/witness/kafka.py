"""Kafka's own words: partitions, groups, offsets, quorum and the log itself, by a client that no worker uses."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from drills.targets.kafka_admin import TopicPartition, admin, described, reader
from drills.targets.target import KafkaAddresses, TargetError
from drills.witness.rabbitmq import WitnessError

LATEST, EARLIEST = -1, -2  # what ListOffsets is asked for
READ = 30.0  # seconds for reading a whole log


@dataclass(frozen=True)
class PartitionReading:
    """One partition. `leader`: None while there is none."""

    number: int
    leader: int | None
    replicas: Sequence[int]
    in_sync: Sequence[int]


@dataclass(frozen=True)
class Member:
    """One member of a group. `client`: the name that it gave itself; `partitions`: of the one topic that was asked."""

    client: str
    partitions: Sequence[int]


@dataclass(frozen=True)
class GroupReading:
    """A group as its coordinator tells it: its state (Stable, Empty, …), the assignor it agreed on, its members."""

    state: str
    strategy: str
    members: Sequence[Member]

    @property
    def idle(self) -> int:
        """Members without a partition."""
        return sum(1 for one in self.members if not one.partitions)

    def json(self) -> dict[str, Any]:
        """The same, as a fact of the ledger."""
        return {**asdict(self), "idle": self.idle}


@dataclass(frozen=True)
class OffsetsReading:
    """Partition -> offset. What a group never committed is not in `committed`; `at`: monotonic seconds."""

    at: float
    committed: Mapping[int, int]
    start: Mapping[int, int]
    end: Mapping[int, int]

    @property
    def lag(self) -> dict[int, int | None]:
        """Partition -> end minus committed; None where there is no commit. Committed offsets were read first."""
        return {one: end - self.committed[one] if one in self.committed else None for one, end in self.end.items()}

    def json(self) -> dict[str, Any]:
        """The same, as a fact of the ledger: keys are text."""
        parts = {"committed": self.committed, "start": self.start, "end": self.end, "lag": self.lag}
        return {"at": self.at, **{name: _text(found) for name, found in parts.items()}}


@dataclass(frozen=True)
class Record:
    """One record of the log. `timestamp`: seconds since 1970; `event_id`: "" where the bytes name none."""

    event_id: str
    key: str
    partition: int
    offset: int
    timestamp: float
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


class KafkaWitness:
    """A Kafka cluster. Each reading has a connection of its own; all raise WitnessError."""

    def __init__(self, addresses: KafkaAddresses) -> None:
        self._addresses = addresses

    def partitions(self, topic: str) -> list[PartitionReading]:
        """The partitions of a topic, fetched now; empty when there is no such topic."""
        try:
            found = described(self._addresses, topic) or []
        except TargetError as error:
            raise WitnessError(str(error)) from None
        return [
            PartitionReading(
                one["partition_index"],
                one["leader_id"] if one["leader_id"] >= 0 else None,
                sorted(one["replica_nodes"]),
                sorted(one["isr_nodes"]),
            )
            for one in found
        ]

    def group(self, name: str, topic: str) -> GroupReading:
        """A group, as the coordinator describes it now."""
        try:
            with admin(self._addresses) as client:
                found = client.describe_groups([name])[name]
        except TargetError as error:
            raise WitnessError(str(error)) from None
        if found["error"]:
            raise WitnessError(f"group {name} can't be described: {found['error']}")
        members = [Member(one["client_id"], _assigned(one["member_assignment"], topic)) for one in found["members"]]
        ordered = sorted(members, key=lambda one: one.client)
        return GroupReading(found["group_state"], found["protocol_data"], ordered)

    def offsets(self, group: str, topic: str) -> OffsetsReading:
        """Committed offsets first, then the ends of a newly fetched list of partitions: no lag is below the truth."""
        places = [TopicPartition(topic, one.number) for one in self.partitions(topic)]
        try:
            with admin(self._addresses) as client:
                told = client.list_group_offsets({group: None})[group]
                committed = {one.partition: found.offset for one, found in told.items() if one.topic == topic}
                start, end = (_ends(client.list_partition_offsets(dict.fromkeys(places, what)))
                              for what in (EARLIEST, LATEST))  # fmt: skip
        except TargetError as error:
            raise WitnessError(str(error)) from None
        return OffsetsReading(time.monotonic(), {one: at for one, at in committed.items() if at >= 0}, start, end)

    def quorum(self) -> dict[str, Any]:
        """The active controller and the voters, as the quorum itself tells them."""
        try:
            with admin(self._addresses) as client:
                found = client.describe_metadata_quorum()
        except TargetError as error:
            raise WitnessError(str(error)) from None
        [part] = found["topics"][0]["partitions"]
        voters = sorted(one["replica_id"] for one in part["current_voters"])
        return {"leader": part["leader_id"], "epoch": part["leader_epoch"], "voters": voters}

    def log(self, topic: str, seconds: float = READ, *, committed: bool = False) -> list[Record]:
        """Every record of the topic up to its ends of now, read from the log itself.

        `committed`: without those of transactions that are open or were aborted; up to the last stable offset.
        """
        places = [TopicPartition(topic, one.number) for one in self.partitions(topic)]
        try:
            with reader(self._addresses, "read_committed" if committed else "read_uncommitted") as client:
                return _read(client, places, time.monotonic() + seconds)
        except TargetError as error:
            raise WitnessError(str(error)) from None


def _read(client: Any, places: Sequence[Any], deadline: float) -> list[Record]:
    client.assign(places)
    ends = client.end_offsets(places)
    for place, start in client.beginning_offsets(places).items():
        client.seek(place, start)
    found: list[Record] = []
    while any(client.position(place) < ends[place] for place in places):
        if time.monotonic() > deadline:
            raise WitnessError(f"the log of {places[0].topic} was not read to its end in time")
        for records in client.poll(timeout_ms=200).values():
            found += [_record(one) for one in records if one.offset < ends[TopicPartition(one.topic, one.partition)]]
    return sorted(found, key=lambda one: (one.partition, one.offset))


def _record(found: Any) -> Record:
    try:
        event = str(json.loads(found.value)["event_id"])
    except (ValueError, KeyError, TypeError, RecursionError):
        event = ""
    key = found.key.decode(errors="replace") if found.key is not None else ""
    headers = {name: (value or b"").decode(errors="replace") for name, value in found.headers or ()}
    return Record(event, key, found.partition, found.offset, found.timestamp / 1000, found.value or b"", headers)


def _assigned(assignment: Any, topic: str) -> list[int]:
    """The partitions of an assignment; none for b"", which a member has that waits for its own."""
    parts = assignment.get("assigned_partitions", ()) if isinstance(assignment, dict) else ()
    return sorted(number for one in parts if one["topic"] == topic for number in one["partitions"])


def _ends(found: Mapping[Any, Any]) -> dict[int, int]:
    return {place.partition: one.offset for place, one in found.items()}


def _text(found: Mapping[int, int | None]) -> dict[str, int | None]:
    return {str(partition): found[partition] for partition in sorted(found)}
