"""The demo's end: a quick `crash-window` on its own lab, as a person would start it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys

from drills.lab import Lab, Report

DRILL = "crash-window"
RUNS = "runs"  # in the lab's folder: they go with the lab


def play(lab: Lab, report: Report) -> int:
    """Run it to its end (it has deadlines of its own). Its lines go where the demo's go; its exit code."""
    report.say(
        f"mq-drill run {DRILL} --quick: kills workers, stops nodes of this lab, and proves what came of it; about four "
        "minutes (Ctrl-C ends it and puts everything back)"
    )
    command = [sys.executable, "-m", "drills", "run", DRILL, "--quick", "--target", lab.name, "--yes", lab.name]
    with subprocess.Popen(command, env={**os.environ, "MQOPS_RUNS": str(lab.folder / RUNS)}) as process:
        while process.poll() is None:
            with contextlib.suppress(KeyboardInterrupt):  # the drill got it too, and rolls back before it ends
                process.wait()
    return process.returncode
