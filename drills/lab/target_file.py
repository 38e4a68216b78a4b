"""The target file that `mq-drill lab up` puts into a lab's folder: what a drill needs to know of it."""

from __future__ import annotations

from pathlib import Path

from drills.lab.record import write_whole

FILE = "target.yaml"
TEXT = """\
# What `mq-drill run --target {name}` finds this lab by. See `mq-drill run --help`.
name: {name}
kind: lab
lab: {name}
drillable: true  # it may be broken on purpose
# exporter_url: http://127.0.0.1:9899/metrics  # without it a run starts an exporter of its own
"""


def write(folder: Path, name: str) -> None:
    """Writes the file unless it is there: a person may have changed it."""
    if not (folder / FILE).exists():
        write_whole(folder / FILE, TEXT.format(name=name))
