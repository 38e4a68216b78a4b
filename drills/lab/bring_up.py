"""Brings the nodes of a lab into service from whatever state they are in: absent, ended, frozen, hung, half-made."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from functools import partial

from drills.lab import rabbitmq
from drills.lab.errors import LabTimeoutError
from drills.lab.node import Node, Site
from drills.lab.rabbitmq import RabbitNode
from drills.lab.report import Report
from drills.lab.waiting import wait_all

CHANCES = 2  # for each node, beside the first


class BringUp:
    """One attempt at bringing nodes up; each node gets two more chances."""

    def __init__(self, site: Site, nodes: Sequence[Node], report: Report) -> None:
        self.site = site
        self.nodes = nodes
        self.report = report
        self.since: dict[str, float] = {}  # node -> when it was started, or found running
        self.chances = dict.fromkeys((node.name for node in nodes), CHANCES)

    def run(self, seconds: float) -> None:
        """Returns when every node serves. Raises LabError with the tail of the right log."""
        rabbit = any(isinstance(node, RabbitNode) for node in self.nodes)
        if rabbit and (reason := rabbitmq.broken(self.site)):
            self.report.say(f"{reason}: it begins again with no data")
            rabbitmq.clear(self.site)
        try:
            wait_all({f"{node.name} serves": partial(self._lack, node) for node in self.nodes}, seconds, self.report)
        except LabTimeoutError as late:
            lacking = [node for node in self.nodes if node.condition() != "serving"]
            raise LabTimeoutError(f"{late}\n" + "\n".join(node.failure() for node in lacking[:2])) from None
        if rabbit:
            rabbitmq.formed(self.site).touch()

    def _lack(self, node: Node) -> str | None:
        if node.name not in self.since:
            needs = node.needs()
            if needs is None:
                self._wake(node)
            return needs or "was started"
        if self.chances[node.name]:
            if node.process() is None:  # on a busy machine a node can miss deadlines of its own
                self._again(node, "ended while starting")
            elif time.monotonic() - self.since[node.name] > node.patience:
                self._again(node, f"did not serve within {node.patience:.0f} s")
        return node.lack_while_alive()

    def _wake(self, node: Node) -> None:
        self.since[node.name] = time.monotonic()
        process = node.process()
        if process is None:
            node.launch()
            self.report.say(f"{node.name} started")
        elif process.state() == "T":
            self.report.say(f"{node.name} was frozen: thawing it")
            process.send(signal.SIGCONT)

    def _again(self, node: Node, reason: str) -> None:
        self.chances[node.name] -= 1
        self.report.say(f"{node.name} {reason}: starting it again")
        node.kill()
        node.launch()
        self.since[node.name] = time.monotonic()
