"""The driver of a real drill, killed with SIGKILL in each of its phases; then recovered and judged. A table of it.

    python -m tests.driver_kills        plays `crash-window` (its seventh criterion), writes docs/driver-kills.md

`MQ_TEST_LAB` names a lab with RabbitMQ that is up; otherwise one is made and taken down. Exit code 1: something is
left.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from drills.engine import runs
from drills.engine.drill import PHASES
from drills.lab import Lab, report_to, take_down
from drills.targets import file as target_file
from drills.targets.rabbitmq_api import Management

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "driver-kills.md"
CASE, SEED = "leader-loss", 20
LATER = {"inject": r"stop rabbitmq-\d: proven"}
"""Where the beginning of a phase would be too early to be hard: what has to be printed first."""
HEAD = """\
# The driver killed in each of its phases

`mq-drill run crash-window --quick --only 7` on a real cluster, its driver ended with SIGKILL when it had just said
where it is; in `inject` when the leader's node was proven to be down. Then another run is tried, which must be refused
while something may stand, `mq-drill recover` is run twice, and `mq-drill analyze` judges what was stored. Nothing may
be left: every node serves, no virtual host of the run is there.

Written by `python -m tests.driver_kills`; do not edit.

| Killed in | Changes that stood | Another run | `recover` | again | `analyze` | Left |
| --- | --- | --- | --- | --- | --- | --- |
"""


@dataclass(frozen=True)
class Killed:
    """What became of one run."""

    phase: str
    standing: list[str]
    refused: int
    recovered: tuple[int, float]
    again: int
    analyzed: tuple[int, str]
    left: list[str]

    def row(self) -> str:
        """The same, in the table."""
        stood = ", ".join(self.standing) or "none"
        code, seconds = self.recovered
        judged = f"exit {self.analyzed[0]}: {self.analyzed[1]}"
        left = ", ".join(self.left) or "nothing"
        return (
            f"| {self.phase} | {stood} | exit {self.refused} | exit {code}, {seconds:.0f} s | exit {self.again} "
            f"| {judged} | {left} |"
        )

    def lack(self) -> str | None:
        """What is not as it must be; None when all is."""
        good = self.recovered[0] == self.again == 0 and not self.left
        return None if good and self.refused == (3 if self.standing else self.refused) else self.row()


def main() -> int:
    """Plays them all."""
    name = os.environ.get("MQ_TEST_LAB")
    lab = Lab.up(name or "killed", ("rabbitmq",), report=report_to(sys.stderr))
    try:
        found = [_killed(phase, lab) for phase in ("preflight", *PHASES, "judge", "evidence")]
    finally:
        if name is None:
            take_down(lab.name)
    PAGE.write_text(HEAD + "".join(f"{one.row()}\n" for one in found))
    lacks = [lack for one in found if (lack := one.lack()) is not None]
    sys.stdout.write(PAGE.read_text() + "".join(f"NOT RIGHT: {lack}\n" for lack in lacks))
    return 1 if lacks else 0


def _killed(phase: str, lab: Lab) -> Killed:
    with TemporaryDirectory() as folder, _runs_in(Path(folder)):
        _kill(phase, lab.name)
        [run] = runs.names()
        ledger = runs.open_run(run)[2]
        standing = [str(row["kind"]) for row in ledger.standing_changes()]
        ledger.close()
        refused, _ = _command("run", "crash-window", "--only", "1", "--quick", "--target", lab.name, "--yes", lab.name)
        began = time.monotonic()
        code, _ = _command("recover", run)
        took = time.monotonic() - began
        again, _ = _command("recover", run)
        judged, said = _command("analyze", run)
        words = re.findall(r"criterion 7 (PASS|FAIL|UNKNOWN|NOT RUN)", said)
        return Killed(phase, standing, refused, (code, took), again, (judged, words[-1] if words else "?"), _left(lab))


@contextlib.contextmanager
def _runs_in(folder: Path) -> Iterator[None]:
    before = os.environ.get("MQOPS_RUNS")
    os.environ["MQOPS_RUNS"] = str(folder)
    try:
        yield
    finally:
        os.environ.pop("MQOPS_RUNS") if before is None else os.environ.update(MQOPS_RUNS=before)


def _kill(phase: str, lab: str) -> None:
    """Starts the run, and kills its driver when it has said that it is there."""
    here = LATER.get(phase, rf"s  ({CASE}: )?{phase}$")
    arguments = ["run", "crash-window", "--quick", "--only", "7", "--seed", str(SEED), "--target", lab, "--yes", lab]
    with subprocess.Popen(_words(*arguments), cwd=ROOT, stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        for line in driver.stdout:
            if re.search(here, line.rstrip()):
                driver.send_signal(signal.SIGKILL)
                break
        else:
            raise AssertionError(f"the run ended ({driver.wait()}) before it came to {phase}")


def _command(*arguments: str) -> tuple[int, str]:
    done = subprocess.run(_words(*arguments), cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    return done.returncode, done.stdout + done.stderr


def _words(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "drills", *arguments]


def _left(lab: Lab) -> list[str]:
    """Nodes that do not serve, and virtual hosts that a run made."""
    away = [f"{name} {node.condition()}" for name, node in lab.nodes.items() if node.condition() != "serving"]
    found = Management(target_file.find(lab.name).rabbitmq).get("vhosts") or []
    return [*away, *(one["name"] for one in found if one["name"].startswith("drill-"))]


if __name__ == "__main__":
    sys.exit(main())
