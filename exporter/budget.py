"""A budget of series for each cluster: which partitions and queues stay when there are too many.

Highest lag (or depth) first. What was chosen counts double, so it stays until it falls below half of the cut and
nothing flaps. Totals per topic, per group and per node are never dropped.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from exporter.metrics.family import Family, Labels, Measured

UNITS = (("group", "topic", "partition"), ("topic", "partition"), ("vhost", "queue"))
WEIGHTS = {
    "mq_kafka_group_lag_offsets": (("group", "topic", "partition"), ("topic", "partition")),
    "mq_rabbitmq_queue_messages_ready": (("vhost", "queue"),),
    "mq_rabbitmq_queue_messages_unacknowledged": (("vhost", "queue"),),
}
"""Family that says how much a unit matters -> the kinds of unit that it speaks for."""

Unit = tuple[tuple[str, ...], Labels]  # label names that make the unit, their values


@dataclass(frozen=True, slots=True)
class Budgeted:
    """What stays within the budget. `kept` is empty when nothing had to go, and is the next call's `before`."""

    measured: Measured
    kept: frozenset[Unit]
    dropped: int


def unit_of(family: Family) -> tuple[str, ...] | None:
    """The label names of the unit that a family's samples belong to; None when it is never dropped."""
    return next((names for names in UNITS if family.labels[: len(names)] == names), None)


def fit(measured: Measured, limit: int, before: frozenset[Unit]) -> Budgeted:
    """Drop whole units until at most `limit` series are left; deterministic for the same input and `before`."""
    total = sum(map(len, measured.values()))
    if total <= limit:
        return Budgeted(measured, frozenset(), 0)
    sizes = series_of_units(measured)
    room = limit - (total - sum(sizes.values()))
    kept = choose(sizes, weights(measured), room, before)
    left = only(measured, kept)
    return Budgeted(left, kept, total - sum(map(len, left.values())))


def only(measured: Measured, kept: frozenset[Unit]) -> Measured:
    """What is of these units, and what is never dropped."""
    left: Measured = {}
    for family, samples in measured.items():
        names = unit_of(family)
        left[family] = (
            samples
            if names is None
            else {labels: value for labels, value in samples.items() if (names, labels[: len(names)]) in kept}
        )
    return left


def choose(sizes: dict[Unit, int], weight: dict[Unit, float], room: int, before: frozenset[Unit]) -> frozenset[Unit]:
    """The units that fit into `room` series, heaviest first."""

    def rank(unit: Unit) -> tuple[float, bool, Unit]:
        was_kept = unit in before
        return (-weight.get(unit, 0) * (2 if was_kept else 1), not was_kept, unit)

    kept = set()
    for unit in sorted(sizes, key=rank):
        if sizes[unit] > room:
            break  # not "the next that fits": a smaller, lighter unit would come and go with its neighbours
        room -= sizes[unit]
        kept.add(unit)
    return frozenset(kept)


def series_of_units(measured: Measured) -> dict[Unit, int]:
    """How many series each unit has over all families."""
    sizes: dict[Unit, int] = defaultdict(int)
    for family, samples in measured.items():
        if (names := unit_of(family)) is not None:
            for labels in samples:
                sizes[names, labels[: len(names)]] += 1
    return sizes


def weights(measured: Measured) -> dict[Unit, float]:
    """How much each unit matters: its lag or depth; a partition matters as much as the worst group on it."""
    weight: dict[Unit, float] = defaultdict(float)
    for family, samples in measured.items():
        for names in WEIGHTS.get(family.name, ()):
            at = [family.labels.index(name) for name in names]
            for labels, value in samples.items():
                unit = (names, tuple(labels[index] for index in at))
                weight[unit] = max(weight[unit], value)
    return weight
