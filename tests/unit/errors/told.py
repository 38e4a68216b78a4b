"""What the exporter tells of a connection that fails, in its snapshot and in its log."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from exporter.clients.reader import Reader
from exporter.log import StateLog, TerminalText
from exporter.model.common import Kind

POLLS = 3


class Lines(logging.Handler):
    """The log as a terminal has it, without the time."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.setFormatter(TerminalText())
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append(self.format(record).split(maxsplit=1)[1])


def told(reader: Reader, collector: str, address: str, folder: Path) -> tuple[set[tuple[Kind, str]], list[str]]:
    """(kind, text) of the collector's problems over some polls, and the warnings in the log; places are replaced."""
    lines, states, problems = Lines(), StateLog(), set()
    log = logging.getLogger("exporter.log")
    log.addHandler(lines)
    try:
        for _ in range(POLLS):
            snapshot = reader.poll()
            states.observe(snapshot)
            run = next(run for run in snapshot.runs if run.name == collector)
            problems |= {(one.kind, placed(one.detail, address, folder)) for one in run.problems}
    finally:
        log.removeHandler(lines)
        reader.close()
    return problems, [placed(line, address, folder) for line in lines.found]


def placed(text: str, address: str, folder: Path) -> str:
    """Without what differs from run to run."""
    return text.replace(address, "HERE").replace(str(folder), "FOLDER")


def settings(given: dict[str, Any]) -> dict[str, Any]:
    """With a deadline that no busy machine passes, but in the cases that are about it."""
    return {"timeout": 20.0, **given}
