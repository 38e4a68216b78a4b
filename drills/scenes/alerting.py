"""An alert of a case's own on the target's Prometheus: brought along, followed through its states, taken out again."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from drills.engine.stage import Stage
from drills.faults.watch import Watch
from drills.lab.errors import LabTimeoutError
from drills.witness.prometheus_api import Prometheus
from drills.witness.rabbitmq import WitnessError

INACTIVE, PENDING, FIRING = "inactive", "pending", "firing"
SOURCE = "Prometheus, by its rules API"
WATCHED = (
    "the target's Prometheus, if it has one, scrapes the run's exporter with an alert of the case's own (taken out)"
)
STATES, TIMES = "alert", "alert_times"
"""Facts: the states in which it was seen, in their order; and when. None: there is no Prometheus."""


@dataclass
class Alert:
    """One rule over the exporter's page. `lasting`: its `for`; `scrape`: how often Prometheus reads the page."""

    stage: Stage
    name: str
    expression: str
    lasting: str = "0s"
    scrape: str = "1s"
    path: list[dict[str, Any]] = field(default_factory=list)

    def bring(self) -> bool:
        """Makes the rule; False, with a note, where no Prometheus or no exporter is there to have it."""
        if self.stage.target.prometheus_url is None or self.stage.exporter_url is None:
            self.stage.note("the target has no Prometheus: no alert can be seen", "observation")
            self._keep(None)
            return False
        address, folder = urlsplit(self.stage.exporter_url), str(self.stage.folder.absolute())
        self.stage.make(
            Watch(
                self.stage.namespace, address.netloc, address.path, self.name, self.expression, folder,
                scrape=self.scrape, lasting=self.lasting,
            )
        )  # fmt: skip
        return True

    def follow(self, wanted: str, seconds: float) -> bool:
        """Looks until it is in this state, noting each change on the way; whether it came to it."""
        if self.stage.target.prometheus_url is None or self.stage.exporter_url is None:
            return False
        try:
            self.stage.wait(f"{self.name} is {wanted}", lambda: self._lack(wanted), seconds)
        except LabTimeoutError as late:
            self.stage.note(str(late), "observation")
        finally:
            self._keep(self.path)
        return bool(self.path) and self.path[-1]["state"] == wanted

    def _lack(self, wanted: str) -> str | None:
        try:
            state, since = self._state()
        except WitnessError as error:
            return str(error)
        if not self.path or self.path[-1]["state"] != state:
            self.path.append({"state": state, "wall": time.time(), "active_at": since})
            self.stage.note(f"{self.name} is {state}", "alert", state=state, active_at=since)
        return None if state == wanted else f"it is {state}"

    def _state(self) -> tuple[str, str | None]:
        """The state of this case's own alert, and since when its expression has been true."""
        found = Prometheus(str(self.stage.target.prometheus_url)).instances(self.name, drill=self.stage.namespace)
        firing_first = sorted(found, key=lambda one: one["state"] != FIRING)
        return (firing_first[0]["state"], firing_first[0]["activeAt"]) if firing_first else (INACTIVE, None)

    def _keep(self, path: list[dict[str, Any]] | None) -> None:
        self.stage.fact(STATES, None if path is None else [one["state"] for one in path], SOURCE)
        self.stage.fact(TIMES, path, SOURCE)
