"""What is read of one case on Kafka: by the exporter's page, by the admin API, by the log itself, and of the ledger."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from drills.ledger import tables
from drills.scenes.scene import BUSINESS, LEDGER, SEEN, BusinessScene
from drills.witness import exporter_page
from drills.witness.kafka import GroupReading, KafkaWitness, OffsetsReading, PartitionReading
from drills.witness.rabbitmq import WitnessError

ADMIN, LOG, PAGE = "Kafka's admin API", "the log itself, read from its start", "the exporter's page"
WITNESSES = f"{PAGE}, {ADMIN}, {LOG}"
STABLE = "Stable"  # a group's state
LAG, AGE = "mq_kafka_group_lag_offsets", "mq_kafka_group_oldest_message_age_seconds"


@dataclass
class KafkaReadings(BusinessScene):
    """One topic of `partitions` and one group, as they are seen. What was read is kept as a fact of the case."""

    place: ClassVar[str] = "log position"

    partitions: int = 3

    @property
    def witness(self) -> KafkaWitness:
        """Any broker that answers."""
        return KafkaWitness(self.stage.target.kafka)

    @property
    def topic(self) -> str:
        """The topic of the case."""
        return f"{self.stage.namespace}-events"

    @property
    def group(self) -> str:
        """The group of the case."""
        return f"{self.stage.namespace}-group"

    def delivery_records(self, name: str) -> None:
        """ID, key, partition and offset of each event that is confirmed; kept as a fact."""
        rows = self.stage.ledger.rows(tables.attempts, self.stage.case)
        told = [
            {"event_id": row["event_id"], **{key: row["detail"].get(key) for key in ("key", "partition", "offset")}}
            for row in rows
            if row["outcome"] == "confirmed"
        ]
        self.stage.fact(name, told, "the producer's delivery reports, by the run's ledger")

    def log(self, name: str) -> None:
        """Every record of the topic as the log has it; kept as a fact. None: it could not be read."""
        try:
            found = self.witness.log(self.topic)
        except WitnessError as error:
            self.stage.note(f"{name}: {error}", "observation")
            self.stage.fact(name, None, LOG)
            return
        told = [
            {"event_id": one.event_id, "key": one.key, "partition": one.partition, "offset": one.offset}
            for one in found
        ]
        self.stage.fact(name, told, LOG)

    def read_partitions(
        self, name: str, good: Callable[[Sequence[PartitionReading]], bool], seconds: float = SEEN
    ) -> list[PartitionReading] | None:
        """The topic's partitions once they are good, or at the end of the time; kept as a fact. None: not told."""
        found: list[list[PartitionReading] | None] = [None]

        def lack() -> str | None:
            found[0] = read = self.witness.partitions(self.topic)
            told = {one.number: f"leader {one.leader}, in sync {list(one.in_sync)}" for one in read}
            return None if read and good(read) else str(told)

        self.look(f"{name}: the topic's partitions", lack, seconds)
        told = None if found[0] is None else [
            {"number": one.number, "leader": one.leader, "replicas": one.replicas, "in_sync": one.in_sync}
            for one in found[0]
        ]  # fmt: skip
        self.stage.fact(name, told, ADMIN)
        return found[0]

    def read_group(self, name: str, good: Callable[[GroupReading], bool], seconds: float = SEEN) -> None:
        """The group once it is good, or at the end of the time; kept as a fact with what the exporter says of it."""
        found: list[Any] = [None, None]

        def lack() -> str | None:
            found[0] = group = self.witness.group(self.group, self.topic)
            found[1] = page = self._members()
            told = f"{group.state}, {len(group.members)} members, {group.idle} idle, the exporter says {page}"
            alike = page == {"members": len(group.members), "idle": group.idle}
            return None if good(group) and (alike or self.stage.exporter_url is None) else told

        self.look(f"{name}: the group is stable, and the exporter shows it", lack, seconds)
        told = None if found[0] is None else {**found[0].json(), "exporter": found[1]}
        self.stage.fact(name, told, f"{ADMIN}, and {PAGE}")

    def _members(self) -> dict[str, float | None]:
        """What the exporter's page says; None for what it does not name."""
        if self.stage.exporter_url is None:
            return {"members": None, "idle": None}
        page = exporter_page.fetch(self.stage.exporter_url)
        names = {"members": "mq_kafka_group_members", "idle": "mq_kafka_group_members_idle"}
        return {name: page.value(metric, group=self.group) for name, metric in names.items()}

    def read_offsets(
        self, name: str, good: Callable[[OffsetsReading], bool], seconds: float = SEEN
    ) -> OffsetsReading | None:
        """Committed offsets and ends once they are good, or at the end of the time; kept as a fact. None: not told."""
        found: list[OffsetsReading | None] = [None]

        def lack() -> str | None:
            found[0] = read = self.witness.offsets(self.group, self.topic)
            self.stage.live(**{f"lag{number}": lag for number, lag in read.lag.items()})
            return None if good(read) else str(read.lag)

        self.look(f"{name}: the group's offsets", lack, seconds)
        self.stage.fact(name, None if found[0] is None else found[0].json(), ADMIN)
        return found[0]

    def compare_lag(self, name: str, wanted: Mapping[int, int], seconds: float = SEEN) -> None:
        """Lag by partition from the page, the admin API and the log, once all are as wanted, or at the end of the time.

        The log's own: the records from the committed offset on, counted by reading them.
        """
        found: dict[str, dict[str, float | None]] = {}
        expected = {str(number): float(lag) for number, lag in wanted.items()}

        def lack() -> str | None:
            found.clear()
            found.update(self._lags(list(wanted)))
            return None if all(one == expected for one in found.values()) else str(found)

        self.look(f"{name}: three witnesses of the lag agree", lack, seconds)
        self.stage.fact(name, found or None, WITNESSES)

    def _lags(self, partitions: Sequence[int]) -> dict[str, dict[str, float | None]]:
        offsets = self.witness.offsets(self.group, self.topic)
        records = self.witness.log(self.topic)
        unread = {
            number: sum(1 for one in records if one.partition == number and one.offset >= offsets.committed[number])
            for number in partitions
            if number in offsets.committed
        }
        admin = {number: offsets.lag.get(number) for number in partitions}
        told: dict[str, Mapping[int, float | None]] = {
            "exporter": self._page(LAG, partitions),
            "admin": admin,
            "log": unread,
        }
        return {
            name: {str(number): _float(said.get(number)) for number in partitions} for name, said in told.items()
        }  # fmt: skip

    def read_ages(self, name: str) -> dict[str, float | None] | None:
        """The age of the oldest message by partition, as the exporter's page says now; kept as a fact."""
        try:
            found = {str(number): age for number, age in self._page(AGE, range(self.partitions)).items()}
        except WitnessError as error:
            self.stage.note(f"{name}: {error}", "observation")
            self.stage.fact(name, None, PAGE)
            return None
        self.stage.fact(name, found, PAGE)
        return found

    def _page(self, metric: str, partitions: Sequence[int]) -> dict[int, float | None]:
        if self.stage.exporter_url is None:
            return dict.fromkeys(partitions)
        page = exporter_page.fetch(self.stage.exporter_url)
        where = {"group": self.group, "topic": self.topic}
        return {number: page.value(metric, partition=str(number), **where) for number in partitions}

    def order(self, name: str) -> None:
        """The IDs in the order in which their effects were applied; kept as a fact."""
        with self.business() as reader:
            self.stage.fact(name, reader.order(), BUSINESS)

    def errors(self, name: str, ids: Sequence[str]) -> None:
        """What the first attempt of each of these events came to: outcome and error; kept as a fact."""
        rows = [row for row in self.stage.ledger.rows(tables.attempts, self.stage.case) if row["event_id"] in ids]
        told = {row["event_id"]: {"outcome": row["outcome"], **row["detail"]} for row in rows if row["number"] == 1}
        self.stage.fact(name, told, LEDGER)

    def look(self, claim: str, lack: Callable[[], str | None], seconds: float) -> None:
        """Looks until nothing is lacking; what can't be read is lacking."""

        def look() -> str | None:
            try:
                return lack()
            except WitnessError as error:
                return str(error)

        self._try(claim, look, seconds)


def _float(found: float | None) -> float | None:
    return None if found is None else float(found)
