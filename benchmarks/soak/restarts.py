"""Restarts a broker now and then: Kafka and RabbitMQ in turn, ended cleanly and killed in turn."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace

from benchmarks.soak.checks import Trouble
from drills.lab import Lab, LabError

EVERY = 300.0  # seconds between two restarts
AWAY = 35.0  # seconds that a node is away: long enough to be known as down
CHANCES = 3


def plan() -> Iterator[tuple[str, str, str]]:
    """System, node and how it ends, without end: each node of each system comes to know both ways."""
    number = 0
    while True:
        system, turn = ("kafka", "rabbitmq")[number % 2], number // 2
        yield system, f"{system}-{turn % 3 + 1}", ("stop", "kill")[(turn + number) % 2]
        number += 1


class Restarts(threading.Thread):
    """Does it beside everything else. `troubles` has all restarts so far; `failure` says why it gave up."""

    def __init__(self, lab: Lab, every: float) -> None:
        super().__init__(name="restarts", daemon=True)
        self.lab, self.every = lab, every
        self.troubles: tuple[Trouble, ...] = ()
        self.failure = ""
        self._finished = threading.Event()

    def run(self) -> None:
        """One restart after the other, until `finish`."""
        steps = plan()
        due = time.monotonic() + self.every / 2
        while not self._finished.wait(max(due - time.monotonic(), 0)):
            due += self.every
            try:
                self._restart(*next(steps))
            except LabError as error:
                self.failure = str(error)
                return

    def _restart(self, system: str, name: str, how: str) -> None:
        node = self.lab.node(name)
        trouble = Trouble(system, name, how, time.time())
        self.troubles = (*self.troubles, trouble)
        if how == "kill":
            node.kill()
        else:
            self._end_cleanly(name)
        self._finished.wait(AWAY)
        self._bring_back(name)
        self.troubles = (*self.troubles[:-1], replace(trouble, back=time.time()))

    def _end_cleanly(self, name: str) -> None:
        try:
            self.lab.node(name).stop()
        except LabError as error:  # a node that does not end in time on a busy machine is no fault of the exporter
            print(f"{name} did not stop: {error}", file=sys.stderr)
            self.lab.node(name).kill()

    def _bring_back(self, name: str) -> None:
        for chance in range(CHANCES):
            try:
                self.lab.node(name).start()
                return
            except LabError as error:
                if chance == CHANCES - 1:
                    raise
                print(f"{name} did not start: {error}", file=sys.stderr)
                self.lab.node(name).kill()

    def finish(self) -> None:
        """Begin no further restart; returns when the running one is over."""
        self._finished.set()
        self.join()
