"""`mq-exporter once`: one poll, one page, for people and scripts."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator

from exporter.cli import FAILED, OK, USAGE, fail
from exporter.commands.configured import loader, readers
from exporter.config.mistakes import ConfigError
from exporter.log import one_line, setup
from exporter.model.common import ClusterSnapshot, Kind, Problem
from exporter.poll import Poller


def run(arguments: argparse.Namespace) -> int:
    """0 when everything was read, 1 when a collector failed, 2 on wrong usage."""
    try:
        wanted = re.compile(arguments.match) if arguments.match is not None else None
        config = loader(arguments)()
        setup(arguments.log_level or "warning", config.log.format)
        poller = Poller(config.model_copy(update={"state_dir": None}), readers)
    except re.error as error:
        return fail(f"--match: {arguments.match!r} is not a regular expression: {error}")
    except (ConfigError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return USAGE
    try:
        poller.poll_once()
        _write(poller.page(openmetrics=arguments.openmetrics), wanted)
        return _tell_problems(poller)
    finally:
        poller.stop()


def _write(page: list[bytes], wanted: re.Pattern[str] | None) -> None:
    out = sys.stdout.buffer
    try:
        out.writelines(page if wanted is None else matching(b"".join(page).splitlines(keepends=True), wanted))
        out.flush()
    except BrokenPipeError:  # `| head` has seen enough
        sys.stdout = None  # or the interpreter complains when it flushes at exit


def matching(lines: Iterable[bytes], wanted: re.Pattern[str]) -> Iterator[bytes]:
    """The lines of the families whose whole name matches; a family's lines follow its HELP."""
    keep = False
    for line in lines:
        if line.startswith(b"# HELP "):
            keep = wanted.fullmatch(line.split(b" ", 3)[2].decode()) is not None
        if keep or line == b"# EOF\n":
            yield line


def _tell_problems(poller: Poller) -> int:
    snapshots = poller.snapshots()
    told = [line for snapshot in snapshots.values() for line in problems(snapshot)]
    silent = [name for name in poller.clusters if name not in snapshots]
    told += [
        f"{name}: the poll failed; this is a fault of the exporter, and the log above says more" for name in silent
    ]
    for line in told:
        sys.stderr.write(one_line(line) + "\n")
    failed = silent or any(not run.success for snapshot in snapshots.values() for run in snapshot.runs)
    return FAILED if failed else OK


def problems(snapshot: ClusterSnapshot) -> Iterator[str]:
    """One line for each thing that could not be read; what a broker does not offer is marked as such."""
    about = f"{snapshot.system}/{snapshot.cluster}"
    collectors: dict[Problem, list[str]] = {}
    for run in snapshot.runs:
        for problem in run.problems:
            collectors.setdefault(problem, []).append(run.name)
        if not run.success and not run.problems:
            yield f"{about}: {run.name} failed without a reason"
    for problem, names in collectors.items():
        note = "not offered: " if problem.kind is Kind.UNSUPPORTED else ""
        detail = problem.detail.removeprefix(f"{problem.item}: ")
        yield f"{about}: {note}{problem.item}: {detail} ({', '.join(names)}: {problem.kind})"
