"""A drill on a real RabbitMQ cluster: one node is stopped, and, when told so, a second one is tried."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from drills.engine.drill import Case, Criterion, Drill
from drills.engine.stage import Stage
from drills.faults.queue import Queue
from drills.faults.stop_node import StopNode
from drills.faults.vhost import Vhost
from drills.model.seen import Seen
from drills.model.verdict import Judgement, Verdict
from tests.tiny.orders import hold, order


class OneNode(Case):
    """One node is stopped and started."""

    name = "one-node"
    title = "one node is stopped"

    def plan(self, parameters: Mapping[str, Any]) -> Iterable[str]:
        return [f"stop {parameters['node']}; undo: start it"]

    def fixture(self, stage: Stage) -> None:
        stage.make(Vhost(stage.namespace))
        stage.make(Queue(stage.namespace, "work"))

    def inject(self, stage: Stage) -> None:
        self.fault = stage.make(StopNode(stage.parameters["node"]))
        stage.bite(self.fault)
        hold(self.name, "inject", stage)
        if order("second", False):
            stage.make(StopNode("rabbitmq-2"))


def judge(seen: Seen) -> Judgement:
    found = [change.bite for change in seen.cases["one-node"].changes if change.is_fault]
    return Judgement(Verdict.PASS, f"proven: {found}")


DRILL = Drill(
    name="node",
    question="Does the engine bring a node back?",
    question_vi="Bộ máy có đưa node trở lại không?",
    systems=("rabbitmq",),
    cases=(OneNode(),),
    criteria=(Criterion(1, "one node is stopped", "một node bị dừng", judge, ("one-node",)),),
    parameters=lambda _: {"node": "rabbitmq-3"},
)
