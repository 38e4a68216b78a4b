"""What is read all through a run: the exporter's page, every two seconds, into the run's folder."""

from __future__ import annotations

import contextlib
from pathlib import Path

from drills.engine.own_exporter import OwnExporter
from drills.engine.screen import Screen
from drills.evidence.samples import Sampler
from drills.ledger import Ledger
from drills.targets.target import Target

SAMPLES = "metrics.csv"


class Reading:
    """Starts the run's own exporter where the target names none, and the sampler of its page."""

    def __init__(self, screen: Screen) -> None:
        self.url: str | None = None  # None: there is no page, as the target has neither brokers nor an exporter
        self._screen = screen
        self._sampler: Sampler | None = None
        self._open = contextlib.ExitStack()

    def begin(self, ledger: Ledger, target: Target, folder: Path, namespace: str) -> None:
        """Raises LabError when the exporter does not start."""
        self.url = target.exporter_url
        if self.url is None and target.exporter_config():
            exporter = OwnExporter(ledger, target, folder, self._screen.report())
            self._open.callback(exporter.stop)
            self.url = exporter.url
        if self.url is not None:
            self._sampler = Sampler(self.url, folder / SAMPLES, namespace)
            self._open.enter_context(self._sampler)

    def trouble(self) -> str | None:
        """Why the samples are not whole; None when they are, or there was no page."""
        return None if self._sampler is None else self._sampler.error

    def end(self) -> None:
        """Ends both. Raises what ending a process raises."""
        self._open.close()
