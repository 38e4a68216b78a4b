"""Valid events of a fixed range are replayed into a topic and groups apart: once against the same inbox, once anew."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from drills.actors.worker import Worker
from drills.business.projection import projection
from drills.engine.stage import Stage
from drills.faults.group import Group
from drills.faults.topic import Topic
from drills.scenes.incident import poisons
from drills.scenes.incident.poisoned import WithDeadLetters
from drills.scenes.kafka_readings import ADMIN, LOG
from drills.scenes.scene import BUSINESS, HANDLER, READY
from drills.witness.rabbitmq import WitnessError

REPLAYER = "drills.actors.kafka_replayer"
REBUILD = "rebuild"  # a handler with an inbox and a projection of its own


class Replay(WithDeadLetters):
    """Twenty valid events and three poisons are handled live; then their range is replayed twice."""

    profile = "replay"
    fault = "no fault; the valid events of the topic's range are replayed into a topic of their own, twice"

    def plan(self, parameters: Mapping[str, Any]) -> Iterable[str]:
        """Also the places of the replay."""
        yield from super().plan(parameters)
        where = f"drill-<run>-{self.name}"
        yield f"make the topic {where}-replay (removed at the end)"
        yield f"commit the groups {where}-dedupe and {where}-{REBUILD} at 0 on it (removed at the end)"

    def fixture(self, stage: Stage) -> None:
        """Both writers' events confirmed."""
        stage.make(Topic(self.dead_topic(stage), 1))
        scene = self.scene(stage)
        scene.build()
        messages, middle = self.messages(stage), stage.parameters["ids"]["v2"][0]
        first = next(number for number, one in enumerate(messages) if one["event_id"] == middle)
        older = scene.producer("producer-v1", writer=1)
        scene.produce(older, messages[:first])
        older.stop()
        self.producer = scene.producer("producer-v2")
        scene.produce(self.producer, messages[first:])
        scene.outcomes("outcomes_before")

    def steady(self, stage: Stage) -> None:
        """All handled live; the range and the projection are fixed."""
        scene = self.scene(stage)
        self.consumers = [scene.consumer(**self.moves(stage))]
        patience = stage.parameters["drain_seconds"]
        found = scene.read_offsets("live_before", lambda seen: set(seen.lag.values()) == {0}, patience)
        if found is None:
            raise WitnessError("the live group's offsets could not be read: no range can be fixed")
        scene.checkpoint("live")
        stage.fact("projection", projection(scene.fields("live_fields")), BUSINESS)
        self.ranges = {str(number): [found.start[number], end] for number, end in found.end.items()}
        stage.fact("range", self.ranges, ADMIN)

    def inject(self, stage: Stage) -> None:
        """The valid ones, unchanged, into a topic of their own."""
        scene, target = self.scene(stage), self._target(stage)
        stage.make(Topic(target, 1))
        worker: Worker = scene.worker(
            REPLAYER, "replayer", replay_topic=target, mutant=self.wrong.replayer, victim=self.wrong.victim,
            reader=self.reader,
        )  # fmt: skip
        worker.send("replay", ranges=self.ranges)
        told = worker.await_event("replayed", stage.parameters["drain_seconds"])
        stage.fact("replayed", {"ids": told["ids"], "left_out": told["left_out"]}, "the replayer")
        worker.stop()
        self._log(stage)

    @staticmethod
    def _target(stage: Stage) -> str:
        return f"{stage.namespace}-replay"

    def _log(self, stage: Stage) -> None:
        """What the replay's topic has, by the log itself: the bytes tell whether something was changed on the way."""
        bad = {poisons.body(event, stage.ledger.run, stage.case): event for event in poisons.IDS}
        try:
            found = self.scene(stage).witness.log(self._target(stage))
            source = {one.event_id: one.body for one in self.scene(stage).witness.log(self.scene(stage).topic)}
        except WitnessError as error:
            stage.note(f"the replay's topic: {error}", "observation")
            stage.fact("replay_log", None, LOG)
            return
        told = [
            {"event_id": bad.get(one.body, one.event_id), "same": source.get(one.event_id) == one.body} for one in found
        ]
        stage.fact("replay_log", told, LOG)

    def observe(self, stage: Stage) -> None:
        """Once against the same inbox, once into a projection of its own; then a look at the live group."""
        scene = self.scene(stage)
        self._read_all(stage, "dedupe", HANDLER)
        scene.checkpoint("after_dedupe")
        scene.make_tables(REBUILD)
        self._read_all(stage, REBUILD, REBUILD)
        stage.fact("projection_rebuilt", projection(scene.fields("rebuilt_fields", REBUILD)), BUSINESS)
        scene.read_offsets("live_after", lambda _: True)

    def _read_all(self, stage: Stage, name: str, handler: str) -> None:
        """One consumer in a group of its own reads the replay's topic to its end; its fact is `NAME_offsets`."""
        scene, target, group = self.scene(stage), self._target(stage), f"{stage.namespace}-{name}"
        stage.make(Group(group, target, 1))
        options: dict[str, Any] = {"topic": target, "group": group, "handler_id": handler}
        consumer = scene.consumer(f"consumer-{name}", **options)
        consumer.await_event("assigned", READY)

        def lack() -> str | None:
            read = scene.witness.offsets(group, target)
            stage.fact(f"{name}_offsets", read.json(), ADMIN)
            return None if set(read.lag.values()) == {0} else str(read.lag)

        scene.look(f"{name}: the replay is read to its end", lack, stage.parameters["drain_seconds"])
        consumer.stop()
