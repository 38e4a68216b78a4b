"""Two alerts, from inactive to firing and back: lag behind a barrier, and RabbitMQ's disk alarm."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from typing import Any

from drills.actors.worker import Worker, WorkerError
from drills.engine.stage import Stage
from drills.faults.disk_limit import DiskLimit
from drills.lab.errors import LabTimeoutError
from drills.scenes import wrong as wrongs
from drills.scenes.alerting import FIRING, INACTIVE, PENDING, WATCHED, Alert
from drills.scenes.incident.compatible import AMOUNT
from drills.scenes.kafka_readings import LAG, PAGE
from drills.scenes.queue_case import QueueCase
from drills.scenes.rabbitmq import API
from drills.scenes.scene import LEDGER, SEEN
from drills.scenes.topic_case import TopicCase
from drills.targets.rabbitmq_api import Management, quoted
from drills.witness import exporter_page
from drills.witness.rabbitmq import WitnessError

FOR = "10s"  # the rule's
DISK = "mq_disk_alarm"
ABOVE = 2**40  # bytes more than are free
NEVER = 10**9  # a lag that is never reached


class LagAlert(TopicCase):
    """The consumer is at a barrier; the lag rises past the rule's bound, and the alert is followed to its end."""

    partitions = partitions_at_the_end = 1
    profile = "lag"
    amount, writer, reader = AMOUNT, 2, 2
    fault = "no fault; the consumer handles nothing of its partition until the alert has fired"

    def plan(self, parameters: Mapping[str, Any]) -> Iterable[str]:
        """Also the alert."""
        yield from super().plan(parameters)
        yield WATCHED

    def fixture(self, stage: Stage) -> None:
        """The alert, a consumer at the barrier, and no event yet."""
        scene = self.scene(stage)
        scene.build()
        bound = NEVER if self.wrong.environment == wrongs.RULE_TOO_HIGH else stage.parameters["lag_bound"]
        rule = f'{LAG}{{group="{scene.group}",topic="{scene.topic}"}} > {bound}'
        self.alert = Alert(stage, "DrillLag", rule, lasting=FOR, scrape="2s")
        self.alert.bring()
        self.producer = scene.producer()
        self.consumers = [scene.consumer(hold=[0])]

    def steady(self, stage: Stage) -> None:
        """The alert is silent."""
        self.alert.follow(INACTIVE, stage.parameters["seen_seconds"])

    def inject(self, stage: Stage) -> None:
        """All events, which nobody handles."""
        assert self.producer is not None
        scene = self.scene(stage)
        scene.produce(self.producer, self.messages(stage))
        scene.outcomes("outcomes_before")
        scene.compare_lag("lag_held", {0: len(self.ids(stage))})

    def observe(self, stage: Stage) -> None:
        """Pending, then firing."""
        if self.alert.follow(PENDING, stage.parameters["seen_seconds"]):
            self.alert.follow(FIRING, stage.parameters["seen_seconds"])

    def recover(self, stage: Stage) -> None:
        """The barrier opens; the alert is resolved."""
        for one in self.consumers:
            one.send("let", partitions=[0])
        patience = stage.parameters["drain_seconds"]
        self.scene(stage).read_offsets("offsets_read", lambda found: set(found.lag.values()) == {0}, patience)
        self.alert.follow(INACTIVE, stage.parameters["seen_seconds"])


class DiskAlarm(QueueCase):
    """A node's free-disk limit is raised above what is free: publishers of the whole cluster stand still."""

    amount, writer, reader = AMOUNT, 2, 2
    fault = "a node's free-disk limit is raised above what is free (undo: the limit of before); no disk is filled"

    def plan(self, parameters: Mapping[str, Any]) -> Iterable[str]:
        """Also the alert."""
        yield from super().plan(parameters)
        yield WATCHED

    def ids(self, stage: Stage) -> list[str]:
        """Those before the alarm."""
        found: list[str] = stage.parameters["ids"][self.name]
        return found[: -len(stage.parameters["probe_ids"])]

    def fixture(self, stage: Stage) -> None:
        """All events confirmed, and the alert."""
        self.publish_all(stage)
        self.scene(stage).outcomes("outcomes_before")
        self.alert = Alert(stage, "DrillDiskAlarm", f'{DISK}{{system="rabbitmq"}} == 1')
        self.alert.bring()

    def steady(self, stage: Stage) -> None:
        """No alarm on any node; the alert is silent."""
        self._alarms(stage, "alarms_before", lambda found: bool(found) and not any(found.values()))
        self.alert.follow(INACTIVE, stage.parameters["seen_seconds"])

    def _alarms(self, stage: Stage, name: str, good: Any) -> None:
        """Node -> its alarm, by the exporter's page, once it is good or at the end of the time; kept as a fact."""
        found: dict[str, float] = {}

        def lack() -> str | None:
            if stage.exporter_url is None:
                return "no exporter"
            try:
                page = exporter_page.fetch(stage.exporter_url)
            except WitnessError as error:
                return str(error)
            found.clear()
            for labels, value in page.samples.get(DISK, {}).items():
                if (told := dict(labels)).get("system") == "rabbitmq":
                    found[told["node"]] = value
            return None if good(found) else str(found)

        try:
            stage.wait(f"{name}: the exporter's page", lack, SEEN)
        except LabTimeoutError as late:
            stage.note(str(late), "observation")
        stage.fact(name, dict(found) or None, PAGE)

    def inject(self, stage: Stage) -> None:
        """The limit of one node, which is drawn from the run's seed."""
        nodes = list(stage.target.rabbitmq.nodes)
        node = random.Random(f"{stage.seed}/{stage.case}").choice(nodes)  # noqa: S311 - to be repeatable
        about = Management(stage.target.rabbitmq, (node.name,)).get(f"nodes/{quoted(node.inside)}") or {}
        stage.fact("node", node.inside, API)
        low = self.wrong.environment == wrongs.LIMIT_TOO_LOW
        self.number = stage.make(DiskLimit(node.name, 1 if low else int(about["disk_free"]) + ABOVE))
        stage.bite(self.number)

    def observe(self, stage: Stage) -> None:
        """The page, a publisher that tries, the alert."""
        node = stage.ledger.facts()[stage.case]["node"]
        self._alarms(stage, "alarms_on", lambda found: found.get(node) == 1)
        scene = self.scene(stage)
        self.probe: Worker = scene.publisher("probe")
        self.probe.send(
            "publish", events=scene.messages(stage.parameters["probe_ids"][:1]),
            confirm_seconds=stage.parameters["blocked_seconds"],
        )  # fmt: skip
        self._blocked(stage)
        self.probe.await_event("settled", 4 * stage.parameters["blocked_seconds"])
        scene.outcomes("outcomes_blocked")
        self.alert.follow(FIRING, stage.parameters["seen_seconds"])

    def _blocked(self, stage: Stage) -> None:
        try:
            said = self.probe.await_event("blocked", stage.parameters["blocked_seconds"])["reason"]
        except WorkerError:
            said = None
        stage.fact("blocked", said, "the broker's connection.blocked to the probe")

    def recover(self, stage: Stage) -> None:
        """The limit of before; what the probe sent arrives late, or is sent again by ID; another probe passes."""
        stage.undo(self.number)
        self._alarms(stage, "alarms_after", lambda found: bool(found) and not any(found.values()))
        scene, probes = self.scene(stage), stage.parameters["probe_ids"]
        scene.listen(self.probe, probes[:1])
        self.publisher = scene.publisher("publisher-again")
        seconds = stage.parameters["confirm_seconds"]
        self.publisher.send("retry", events=scene.messages(probes[:1]), confirm_seconds=seconds)
        stage.fact("retried", self.publisher.await_event("retrying", 30)["ids"], LEDGER)
        self.publisher.await_event("settled", 2 * seconds)
        scene.publish(self.publisher, scene.messages(probes[1:]))
        self.alert.follow(INACTIVE, stage.parameters["seen_seconds"])
        self.consumer = scene.consumer()
        self.consumer.send("start")
