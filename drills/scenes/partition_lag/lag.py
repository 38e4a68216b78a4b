"""The cases in which nothing breaks: balanced, one hot partition with a barrier, groups of different sizes."""

from __future__ import annotations

from collections import Counter

from drills.engine.stage import Stage
from drills.ledger import tables
from drills.scenes import wrong as wrongs
from drills.scenes.kafka_readings import STABLE
from drills.scenes.scene import LEDGER
from drills.scenes.topic_case import TopicCase
from drills.scenes.wrong import Wrong
from drills.witness.kafka import GroupReading

GROWS = 4.0  # seconds of age more, before the age is believed to grow: two polls of the exporter
GROWN = 30.0  # seconds until it must have grown


class Balanced(TopicCase):
    """Every partition gets as much; the lag is read before anybody consumes."""

    def fixture(self, stage: Stage) -> None:
        """All events confirmed; no consumer."""
        self.produce_all(stage)

    def steady(self, stage: Stage) -> None:
        """What the log has, and the lag of a group that never ran."""
        scene = self.scene(stage)
        scene.log("log")
        scene.read_offsets("offsets_before", lambda found: 0 not in found.lag.values())
        each = len(self.ids(stage)) // self.partitions
        scene.compare_lag("lag_before", dict.fromkeys(range(self.partitions), each))

    def observe(self, stage: Stage) -> None:
        """One consumer takes it all."""
        self.consumers = [self.scene(stage).consumer()]


class Hot(TopicCase):
    """One account is hot. Partitions 1 and 2 are done while partition 0 is held."""

    profile = "hot"
    fault = "no fault; partition 0 is held by a barrier in the consumer while 1 and 2 are read"

    def fixture(self, stage: Stage) -> None:
        """All events confirmed; no consumer."""
        self.produce_all(stage)

    def steady(self, stage: Stage) -> None:
        """The lag of a group that never ran."""
        self.scene(stage).compare_lag("lag_before", stage_counts(stage))

    def inject(self, stage: Stage) -> None:
        """The barrier: one consumer that handles nothing of partition 0."""
        self.consumers = [self.scene(stage).consumer(hold=[0])]

    def observe(self, stage: Stage) -> None:
        """The lag by three witnesses, and the age as it grows."""
        scene, counts = self.scene(stage), stage_counts(stage)
        scene.read_offsets(
            "offsets_held",
            lambda found: found.lag == {0: counts[0], 1: 0, 2: 0},
            stage.parameters["drain_seconds"],
        )
        scene.compare_lag("lag_held", {0: counts[0], 1: 0, 2: 0})
        scene.checkpoint("at_hold")
        first = scene.read_ages("ages_first")
        before = None if first is None else first["0"]

        def lack() -> str | None:
            now = scene.read_ages("ages_later")
            age = None if now is None else now["0"]
            if before is None or age is None:
                return "the age of partition 0 is not told"
            return None if age > before + GROWS else f"{age:.1f} s after {before:.1f} s"

        scene.look("the oldest message of partition 0 grows older", lack, GROWN)

    def recover(self, stage: Stage) -> None:  # noqa: ARG002
        """The barrier opens."""
        for one in self.consumers:
            one.send("let", partitions=[0])


class GroupOf(TopicCase):
    """A group of so many members on three partitions."""

    def __init__(self, members: int, wrong: Wrong) -> None:
        super().__init__(f"group-of-{members}", f"a group of {members} on three partitions", wrong)
        self.members = members
        self.fault = f"no fault; {members} member(s) join with a pinned strategy"

    def fixture(self, stage: Stage) -> None:
        """All events confirmed; no consumer."""
        self.produce_all(stage)

    def steady(self, stage: Stage) -> None:
        """All members, none of which handles anything before the group is stable."""
        scene = self.scene(stage)
        less = 1 if self.wrong.environment == wrongs.ONE_MEMBER_LESS else 0
        self.consumers = [
            scene.consumer(f"consumer-{number}", hold=range(self.partitions))
            for number in range(1, self.members + 1 - less)
        ]
        scene.read_group("group", self._is_whole, stage.parameters["group_seconds"])

    def _is_whole(self, found: GroupReading) -> bool:
        given = sorted(number for one in found.members for number in one.partitions)
        return (found.state, len(found.members), given) == (STABLE, self.members, list(range(self.partitions)))

    def observe(self, stage: Stage) -> None:  # noqa: ARG002
        """They work; who does how much is told, and nothing is claimed of it."""
        for one in self.consumers:
            one.send("let", partitions=list(range(self.partitions)))

    def reconcile(self, stage: Stage) -> None:
        """Also how much each member did."""
        super().reconcile(stage)
        rows = stage.ledger.rows(tables.deliveries, stage.case)
        stage.fact("completions", dict(Counter(row["worker"] for row in rows)), LEDGER)


def stage_counts(stage: Stage) -> dict[int, int]:
    """Partition -> events, as the run's parameters fix them for the hot profile."""
    return {int(number): count for number, count in stage.parameters["hot_counts"].items()}
