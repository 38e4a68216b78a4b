"""Partitions are raised from three to six: while old records wait (the wrong way), and after all were drained."""

from __future__ import annotations

from drills.engine.stage import Stage
from drills.faults.partitions import Partitions, refused
from drills.scenes import wrong as wrongs
from drills.scenes.kafka_readings import ADMIN
from drills.scenes.topic_case import TopicCase
from drills.targets.target import TargetError

MORE = 6


class RaiseHeld(TopicCase):
    """The negative control: the old records are held, and the accounts that moved overtake themselves."""

    partitions_at_the_end = MORE
    fault = f"partitions are raised to {MORE} while all old records are held (no way back; the topic is removed)"

    def fixture(self, stage: Stage) -> None:
        """All old events confirmed; no consumer."""
        self.produce_all(stage)

    def steady(self, stage: Stage) -> None:
        """One consumer that holds the old partitions."""
        right = self.wrong.environment == wrongs.CONTROLS_ARE_RIGHT
        scene, hold = self.scene(stage), [] if right else list(range(self.partitions))
        self.consumers = [scene.consumer(hold=hold)]
        patience = stage.parameters["drain_seconds"]
        scene.read_offsets("offsets_held", lambda found: not right or set(found.lag.values()) == {0}, patience)

    def inject(self, stage: Stage) -> None:
        """Raised, seen by the producer, and one more event of each account."""
        assert self.producer is not None
        scene = self.scene(stage)
        stage.bite(stage.make(Partitions(scene.topic, MORE)))
        scene.sees_partitions(self.producer, MORE)
        scene.produce(self.producer, scene.messages(stage.parameters["new_ids"]))
        scene.delivery_records("delivery_records")

    def observe(self, stage: Stage) -> None:
        """The new partitions are read to their end while the old ones are held."""
        fresh = range(self.partitions, MORE)
        self.scene(stage).read_offsets(
            "offsets_new_first",
            lambda found: all(found.lag.get(number) == 0 and found.end[number] > 0 for number in fresh),
            stage.parameters["drain_seconds"],
        )
        self.scene(stage).order("order_held")

    def recover(self, stage: Stage) -> None:  # noqa: ARG002
        """The old partitions are let go."""
        for one in self.consumers:
            one.send("let", partitions=list(range(self.partitions)))


class RaiseDrained(TopicCase):
    """The right way: the producer is stopped, everything is drained, then partitions are raised."""

    partitions_at_the_end = MORE
    fault = f"partitions are raised to {MORE} after the producer was stopped and all was drained (no way back)"

    def fixture(self, stage: Stage) -> None:
        """All old events confirmed; the producer ends; one consumer."""
        self.produce_all(stage)
        assert self.producer is not None
        stage.fact("producer_stopped", self.producer.stop(), "the producer's process")
        hold = range(self.partitions) if self._undrained else ()
        self.consumers = [self.scene(stage).consumer(hold=list(hold))]

    @property
    def _undrained(self) -> bool:
        return self.wrong.environment == wrongs.RAISES_UNDRAINED

    def steady(self, stage: Stage) -> None:
        """All old effects and checkpoints, before anything is changed."""
        scene = self.scene(stage)
        patience = 0.0 if self._undrained else stage.parameters["drain_seconds"]
        scene.read_offsets("offsets_before_raise", lambda found: set(found.lag.values()) == {0}, patience)
        scene.checkpoint("before_raise")

    def inject(self, stage: Stage) -> None:
        """Raised, seen by a new producer, and only then one more event of each account."""
        scene = self.scene(stage)
        stage.bite(stage.make(Partitions(scene.topic, MORE)))
        self.producer = scene.producer("producer-after")
        scene.sees_partitions(self.producer, MORE)
        scene.produce(self.producer, scene.messages(stage.parameters["new_ids"]))
        scene.delivery_records("delivery_records")

    def observe(self, stage: Stage) -> None:
        """The way back is asked for, and refused."""
        scene = self.scene(stage)
        if self._undrained:
            fresh = range(self.partitions, MORE)
            scene.read_offsets("offsets_new_first", lambda found: all(found.lag.get(one) == 0 for one in fresh))
        try:
            refusal = refused(stage.target.kafka, scene.topic, self.partitions)
            stage.fact("refusal", {"asked": self.partitions, "said": refusal}, ADMIN)
        except TargetError as error:
            stage.note(f"fewer partitions could not be asked for: {error}", "observation")
        scene.read_partitions("partitions_after_refusal", lambda found: len(found) == MORE)

    def recover(self, stage: Stage) -> None:  # noqa: ARG002
        """Nothing is held any more, if anything was."""
        for one in self.consumers:
            one.send("let", partitions=list(range(self.partitions)))
