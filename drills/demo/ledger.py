"""What the workload itself knows that it put in, counted when a broker confirmed it and never read back from one."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass(slots=True)
class Ledger:
    """The demo's own book. Times are unix seconds; a time is that of the record or message itself."""

    kafka_written: dict[int, list[float]] = field(default_factory=dict)  # partition -> time of each record, by offset
    kafka_committed: dict[int, int] = field(default_factory=dict)  # partition -> next offset to read
    kafka_dead: list[float] = field(default_factory=list)
    transaction_records: int = 0
    transaction_began: float = 0.0
    rabbitmq_published: list[float] = field(default_factory=list)
    rabbitmq_acked: int = 0
    rabbitmq_held: int = 0
    rabbitmq_rejected: int = 0
    rabbitmq_rejected_at: float = 0.0

    def lag(self, partition: int) -> int:
        """Records of this partition that the group has not committed."""
        return len(self.kafka_written[partition]) - self.kafka_committed.get(partition, 0)

    def total_lag(self) -> int:
        """Records of all partitions that the group has not committed."""
        return sum(self.lag(partition) for partition in self.kafka_written)

    def oldest_unread(self, partition: int) -> float:
        """When the first record that the group has not committed was written."""
        return self.kafka_written[partition][self.kafka_committed.get(partition, 0)]

    def ready(self) -> int:
        """Messages that nobody has been given."""
        return len(self.rabbitmq_published) - self.rabbitmq_acked - self.rabbitmq_held - self.rabbitmq_rejected

    def oldest_held(self) -> float:
        """When the oldest message still in the RabbitMQ queue was published: the first that is held."""
        return self.rabbitmq_published[self.rabbitmq_acked + self.rabbitmq_rejected]

    def save(self, path: Path) -> None:
        """Write the book whole, beside the lab, for whoever wants to check the table by hand."""
        temporary = path.with_suffix(".tmp")
        temporary.write_text(json.dumps(asdict(self), indent=1))
        temporary.replace(path)

    @classmethod
    def load(cls, path: Path) -> Ledger:
        """The book as it was saved. Raises OSError when it is not there."""
        book = json.loads(path.read_text())
        for name in ("kafka_written", "kafka_committed"):  # JSON has no integer keys
            book[name] = {int(partition): value for partition, value in book[name].items()}
        return cls(**book)
