"""Where things are: downloads in the cache, every lab in a folder of its own."""

from __future__ import annotations

import os
import re
from pathlib import Path

from drills.lab.errors import LabError

MARK = ".mqops-lab"
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


def cache() -> Path:
    """The folder of downloads and of the port register: `$MQOPS_CACHE`, else `~/.cache/mqops`."""
    if own := os.environ.get("MQOPS_CACHE"):
        return Path(own).absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache").absolute() / "mqops"


def labs() -> Path:
    """The folder that holds one folder a lab: `$MQOPS_LAB_DIR`, else `lab` in the cache."""
    own = os.environ.get("MQOPS_LAB_DIR")
    return Path(own).absolute() if own else cache() / "lab"


def lab_folder(name: str) -> Path:
    """The folder of one lab. Raises LabError when the name can't be a folder, a node's environment and a label."""
    if not NAME.fullmatch(name):
        raise LabError(f"{name!r} can't be a lab's name: use 1 to 40 of a-z, 0-9 and '-', not '-' first")
    return labs() / name


def make_lab_folder(folder: Path) -> None:
    """Makes the folder of a lab, with the mark that says we may remove it."""
    folder.mkdir(parents=True)
    (folder / MARK).touch()


def is_lab_folder(folder: Path) -> bool:
    """Whether the folder was made for a lab, or is empty (we died between making and marking it)."""
    return folder.is_dir() and ((folder / MARK).exists() or not any(folder.iterdir()))
