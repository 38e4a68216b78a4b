"""What a test tells the tiny drill, which runs in a process of its own: JSON in `$TINY`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from drills.engine.stage import Stage
from drills.lab.waiting import wait_for

HELD = "held"


def order(name: str, default: Any = ...) -> Any:
    """What was told under this name. Raises KeyError when nothing was and there is no default."""
    told = json.loads(os.environ["TINY"])
    return told[name] if default is ... else told.get(name, default)


def hold(case: str, phase: str, stage: Stage | None = None) -> None:
    """Stands here when told so, and says so with a file, until the test ends the process."""
    if order("hold", "") == f"{case}:{phase}":
        Path(order("world"), HELD).touch()
        wait = stage.wait if stage is not None else wait_for
        wait("the test goes on", lambda: None if Path(order("world"), "go").exists() else "held", order("patience", 60))
