"""The target's Prometheus scrapes one page more, with one alert on it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from drills.faults.change import Change
from drills.lab.record import write_whole
from drills.targets.target import Target


@dataclass(frozen=True)
class Watch(Change):
    """Scrape job and rule file are called `name`, and the alert has it as its label `drill`.

    `folder`: where the rule file is kept, such as the run's. `scrape`: how often; `lasting`: the rule's `for`.
    """

    is_fault: ClassVar[bool] = False

    name: str
    address: str  # HOST:PORT
    path: str
    alert: str
    expression: str
    folder: str
    scrape: str = "1s"
    lasting: str = "0s"

    def make(self, target: Target) -> None:
        """Returns when Prometheus has taken it."""
        labels = {"severity": "critical", "drill": self.name}
        rule = {"alert": self.alert, "expr": self.expression, "for": self.lasting, "labels": labels}
        write_whole(self._file, json.dumps({"groups": [{"name": self.name, "rules": [rule]}]}, indent=1))  # as YAML
        target.watch(self.name, self.address, self.path, self._file, self.scrape)

    def undo(self, target: Target) -> None:
        """Takes both out; nothing when they are not there."""
        target.unwatch(self.name, self._file)
        self._file.unlink(missing_ok=True)

    def undone(self, target: Target) -> str | None:
        """Prometheus has neither."""
        return f"Prometheus still scrapes {self.name}" if self.name in target.watched() else None

    def says(self) -> str:
        """Add it."""
        return f"let Prometheus scrape {self.address} as {self.name}, with the alert {self.alert}"

    def undo_says(self) -> str:
        """Take it out."""
        return f"take the job {self.name} and its alert out of Prometheus"

    @property
    def _file(self) -> Path:
        return Path(self.folder) / f"{self.name}-alert.yml"
