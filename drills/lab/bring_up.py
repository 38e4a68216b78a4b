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

HUNG = 60.0  # seconds after which a node found running, but not serving, is replaced


class BringUp:
    """One attempt; each node gets at most one more chance."""

    def __init__(self, site: Site, nodes: Sequence[Node], report: Report) -> None:
        self.site = site
        self.nodes = nodes
        self.report = report
        self.begun = time.monotonic()
        self.found_running: set[str] = set()
        self.tried_again: set[str] = set()

    def run(self, seconds: float) -> None:
        """Returns when every node serves. Raises LabError with the tail of the right log."""
        rabbit = any(isinstance(node, RabbitNode) for node in self.nodes)
        if rabbit and (reason := rabbitmq.broken(self.site)):
            self.report.say(f"{reason}: it begins again with no data")
            rabbitmq.clear(self.site)
        for node in self.nodes:
            self._wake(node)
        try:
            wait_all({f"{node.name} serves": partial(self._lack, node) for node in self.nodes}, seconds, self.report)
        except LabTimeoutError as late:
            lacking = [node for node in self.nodes if node.condition() != "serving"]
            raise LabTimeoutError(f"{late}\n" + "\n".join(node.failure() for node in lacking[:2])) from None
        if rabbit:
            rabbitmq.formed(self.site).touch()

    def _wake(self, node: Node) -> None:
        process = node.process()
        if process is None:
            node.launch()
            self.report.say(f"{node.name} started")
            return
        self.found_running.add(node.name)
        if process.state() == "T":
            self.report.say(f"{node.name} was frozen: thawing it")
            process.send(signal.SIGCONT)

    def _lack(self, node: Node) -> str | None:
        if node.name not in self.tried_again:
            if node.process() is None:  # on a busy machine a node can miss deadlines of its own
                self._again(node, "ended while starting")
            elif node.name in self.found_running and time.monotonic() - self.begun > HUNG:
                self._again(node, f"was running but did not serve within {HUNG:.0f} s")
        return node.lack_while_alive()

    def _again(self, node: Node, reason: str) -> None:
        self.tried_again.add(node.name)
        self.report.say(f"{node.name} {reason}: starting it again")
        node.kill()
        node.launch()
