"""What is remembered of each queue from poll to poll: its counters, its history, its role. Bounded by their number."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from exporter.model.rabbitmq import CLASSIC, DLQ, QUORUM, WORK, QueueName
from exporter.model.rabbitmq_age import History, Seen
from exporter.model.rabbitmq_counters import NAMES, Arrivals, Grown
from exporter.model.rabbitmq_dead_letters import Settings
from exporter.model.rabbitmq_listing import Listed, RawCounters
from exporter.model.rabbitmq_node_pages import Depth

NO_COUNTERS = RawCounters()


class QueueMemory:
    """All queues of one cluster. No I/O, no clock: the caller says what was read and when."""

    def __init__(self) -> None:
        self.grown: dict[QueueName, Grown] = {}
        self.histories: dict[QueueName, History] = {}
        self.arrivals: dict[QueueName, Arrivals] = {}
        self.consumed: set[QueueName] = set()
        self.roles: dict[QueueName, str] = {}
        self.polled = False  # whether a listing was ever taken in, so that a new name is a new queue

    def begin(self, queues: Mapping[QueueName, Listed]) -> None:
        """A new listing: queues that are gone are forgotten, and so is a queue that came back as another type."""
        for kept in (self.grown, self.histories, self.arrivals, self.roles):
            for name in kept.keys() - queues.keys():
                del kept[name]
        self.consumed &= queues.keys()
        for name, queue in queues.items():
            self.grown[name] = self.grown.get(name, Grown()).then(queue.counters)
            if queue.consumers or (queue.counters.delivered or 0) > 0:
                self.consumed.add(name)

    def observe(self, queue: Listed, depth: Depth, settings: Settings | None, at: float, fresh: bool) -> None:
        """Take one queue's depth of this poll. `fresh`: whether the listing's counters are of this poll, too."""
        total = total_depth(depth)
        if total is None or queue.type not in {CLASSIC, QUORUM}:
            return
        raw = queue.counters if fresh else NO_COUNTERS
        grown = self.grown.get(queue.id, Grown())
        published = None if settings is None or settings.refuses else grown.known("published", raw)
        self.histories.setdefault(queue.id, History()).add(
            Seen(
                at,
                total,
                depth.unacknowledged or 0,
                departed=grown.known("departed", raw),
                delivered=grown.known("delivered", raw),
                published=published,
                epoch=grown.epoch,
            )
        )

    def count_arrivals(self, queue: QueueName, depth: Depth, before: Collection[QueueName], at: float) -> int | None:
        """Arrivals of a dead-letter queue by this poll, at `at`. `before`: the queues known before it."""
        total = total_depth(depth)
        arrivals = self.arrivals.get(queue)
        departed = self.grown.get(queue, Grown()).counted[NAMES.index("departed")] or 0
        if total is None:
            return None if arrivals is None else arrivals.count
        if arrivals is None:
            arrivals = Arrivals.begin(total, departed, from_nothing=self.polled and queue not in before)
        else:
            arrivals = arrivals.then(total, departed, at)
        self.arrivals[queue] = arrivals
        return arrivals.count

    def take_roles(self, roles: Mapping[QueueName, str], queues: Collection[QueueName]) -> None:
        """Roles as discovered; a queue whose policies could not be told keeps its last one."""
        self.roles = {name: roles.get(name, self.roles.get(name, WORK)) for name in queues}

    def is_dead_letter_queue(self, queue: QueueName) -> bool:
        """Whether other queues' dead letters arrive here, which no counter of the broker shows."""
        return self.roles.get(queue) == DLQ

    def state(self) -> dict[str, Any]:
        """JSON values."""
        return {
            "histories": [[*name, *history.state()] for name, history in self.histories.items()],
            "grown": [[*name, one.read, one.counted, one.epoch] for name, one in self.grown.items()],
            "arrivals": [[*name, one.highest, one.start, one.departed] for name, one in self.arrivals.items()],
            "consumed": [list(name) for name in sorted(self.consumed)],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take back what `state` gave; what doesn't fit is left out. Nothing newer is overwritten."""
        if self.polled:
            return
        for name, after, rows in _entries(state.get("histories"), 4):
            try:
                self.histories[name] = History.restored([after, rows])
            except (TypeError, ValueError, OverflowError):
                continue
        for name, read, counted, epoch in _entries(state.get("grown"), 5):
            if _counts(read) and _counts(counted) and isinstance(epoch, int):
                self.grown[name] = Grown(tuple(read), tuple(counted), epoch)
        for name, *numbers in _entries(state.get("arrivals"), 5):
            if all(isinstance(number, int) for number in numbers):
                self.arrivals[name] = Arrivals(*numbers)
        self.consumed.update(entry[0] for entry in _entries(state.get("consumed"), 2))


def _entries(value: Any, length: int) -> list[tuple[Any, ...]]:
    """(queue, rest...) of each entry that has the right shape."""
    entries = value if isinstance(value, list) else []
    return [
        (QueueName(entry[0], entry[1]), *entry[2:])
        for entry in entries
        if isinstance(entry, list) and len(entry) == length and all(isinstance(part, str) for part in entry[:2])
    ]


def _counts(value: Any) -> bool:
    numbers = value if isinstance(value, (list, tuple)) else ()
    return len(numbers) == len(NAMES) and all(number is None or isinstance(number, int) for number in numbers)


def total_depth(depth: Depth) -> int | None:
    """Ready, unacknowledged and held dead letters together; None when unknown."""
    if depth.messages is not None:
        return depth.messages
    if depth.ready is None or depth.unacknowledged is None:
        return None
    return depth.ready + depth.unacknowledged
