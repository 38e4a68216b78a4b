"""(b), (d), (f): reading a large Kafka cluster, beside the bare calls of confluent-kafka in the same run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from confluent_kafka import KafkaError, KafkaException

from benchmarks.kafka_world import KafkaWorld
from benchmarks.timing import Took, best_of_both
from exporter.budget import fit
from exporter.metrics import registry
from exporter.model.kafka import KafkaSnapshot
from exporter.page import Renderer

AGE_BUDGET = 120.0  # seconds: here one poll may read all there is to read


@dataclass(frozen=True, slots=True)
class Refresh:
    """Best of some runs, seconds: first request to frozen snapshot, poll start to page, and the bare calls."""

    group_partitions: int
    snapshot: Took
    page: float
    series: int
    bare: Took

    @property
    def ratio(self) -> float:
        """Our time as a share of the bare calls'."""
        return self.snapshot.wall / self.bare.wall


def refresh(world: KafkaWorld, runs: int) -> Refresh:
    """A poll of everything in the steady state, in turn with the bare calls. Raises when either misses anything."""
    reader = world.reader(age_budget=AGE_BUDGET)
    try:
        expect_whole(world, reader.poll(), len(world.groups))
        bare_calls = unbroken(world.bare)
        assert bare_calls() == world.partitions * len(world.groups), "the bare calls missed commits"
        ours, bare = best_of_both(runs, reader.poll, bare_calls)
        renderer = Renderer("bench")
        rendered = [to_page(reader.poll, renderer) for _ in range(runs)]
    finally:
        reader.close()
    page, series = min(rendered)
    return Refresh(world.partitions * len(world.groups), ours, page, series, bare)


def unbroken(work: Callable[[], int]) -> Callable[[], int]:
    """The same work, begun anew when a connection broke: a login of the secure lab ends after 20 s. Three attempts.

    The clock runs on meanwhile, so such a run is not the best one.
    """

    def call() -> int:
        for _ in range(2):
            try:
                return work()
            except KafkaException as error:
                if error.args[0].code() != KafkaError._TRANSPORT:
                    raise
        return work()

    return call


def to_page(poll: object, renderer: Renderer) -> tuple[float, int]:
    """Seconds from the start of a poll to its page, and the page's series."""
    began = time.perf_counter()
    measured, faults = registry.measure(poll())  # type: ignore[operator]
    assert not faults, faults
    budgeted = fit(measured, 1_000_000, frozenset())
    rendered = renderer.render(budgeted.measured, 0.0)
    return time.perf_counter() - began, rendered.series


def ages_of_one_group(world: KafkaWorld) -> float:
    """Seconds for the exact ages of all partitions of one group, by a reader that has read none before."""
    reader = world.reader(groups="0", age_budget=AGE_BUDGET)
    try:
        snapshot = reader.poll()
    finally:
        reader.close()
    expect_whole(world, snapshot, 1)
    return next(run.duration_seconds for run in snapshot.runs if run.name == "ages")


def expect_whole(world: KafkaWorld, snapshot: KafkaSnapshot, groups: int) -> None:
    """Raises AssertionError unless every commit is there with an exact age: nobody should measure half a poll."""
    rows = [topic for group in snapshot.groups for topic in group.topics]
    problems = [problem for run in snapshot.runs for problem in run.problems]
    assert not problems, problems[:3]
    ages = [age for row in rows for age in row.ages]
    estimated = sum(len(row.error_bounds) for row in rows)
    found = (len(ages), sum(age is not None for age in ages), estimated)
    assert found == (groups * world.partitions, groups * world.partitions, 0), f"commits, ages, estimates: {found}"
