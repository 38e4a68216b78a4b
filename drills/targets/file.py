"""Target files: YAML that names a cluster and says that it may be broken."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import yaml

from drills.engine.errors import WrongUse
from drills.lab import LabError, lab_names
from drills.lab.places import lab_folder
from drills.lab.target_file import FILE
from drills.targets.lab import LabTarget
from drills.targets.target import Target

KINDS = ("lab",)


@dataclass(frozen=True, slots=True)
class TargetFile:
    """The keys of a target file. URLs default to what the target itself has."""

    name: str
    kind: str
    lab: str
    drillable: bool = False
    exporter_url: str | None = None
    prometheus_url: str | None = None
    alertmanager_url: str | None = None


def find(text: str) -> Target:
    """The target that `--target` names: a lab, or the path of a target file. Raises WrongUse or LabError."""
    path = Path(text)
    if path.is_file():
        return load(path)
    if "/" in text or text.endswith((".yaml", ".yml")):
        raise WrongUse(f"there is no target file {text}: give its path with --target")
    path = lab_folder(text) / FILE
    if not path.is_file():
        there = ", ".join(lab_names()) or "none"
        raise WrongUse(
            f"there is no lab {text!r} with a target file (labs: {there}): make it with `mq-drill lab up {text}`, "
            "or give the path of a target file"
        )
    return load(path)


def load(path: Path) -> Target:
    """The target of a file. Raises WrongUse with the file, the key and what is allowed."""
    found = parse(path)
    try:
        return LabTarget(found.name, str(path.absolute()), found.lab, found.drillable, _urls(found))
    except LabError as error:
        raise WrongUse(f"{path}: {error}") from error


def parse(path: Path) -> TargetFile:
    """The checked keys of a file. Raises WrongUse."""
    try:
        raw = yaml.safe_load(path.read_text())
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise WrongUse(f"{path} can't be read as YAML: {error}") from error
    if not isinstance(raw, dict):
        raise WrongUse(f"{path}: expected keys such as `name:`, found {type(raw).__name__}")
    allowed = [field.name for field in fields(TargetFile)]
    if unknown := sorted(str(key) for key in raw if key not in allowed):
        raise WrongUse(f"{path}: unknown key {', '.join(unknown)}; the keys are {', '.join(allowed)}")
    if missing := [key for key in ("name", "kind", "lab") if not isinstance(raw.get(key), str)]:
        raise WrongUse(f"{path}: {', '.join(missing)} must be there, as text")
    return _checked(path, raw)


def _checked(path: Path, raw: dict[str, Any]) -> TargetFile:
    found = TargetFile(**raw)
    if found.kind not in KINDS:
        raise WrongUse(f"{path}: kind {found.kind!r} is not known; choose from {', '.join(KINDS)}")
    if not isinstance(found.drillable, bool):
        raise WrongUse(f"{path}: drillable must be true or false, not {found.drillable!r}")
    for key, url in _urls(found).items():
        if url is not None and not str(url).startswith(("http://", "https://")):
            raise WrongUse(f"{path}: {key} must be an http:// or https:// URL, not {url!r}")
    return found


def _urls(found: TargetFile) -> dict[str, str | None]:
    return {key: getattr(found, key) for key in ("exporter_url", "prometheus_url", "alertmanager_url")}
