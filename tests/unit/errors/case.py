"""A way in which a connection fails: how it is made, what the exporter says of it, and what the page says of that."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exporter.model.common import Kind

HERE = "HERE"  # stands for the address in `text`
Scene = Callable[[ExitStack, Path], dict[str, Any]]  # what is to be cleaned up, folder with certificates -> settings


@dataclass(frozen=True)
class Case:
    """`text` is the whole of what is told. `means` and `do` are for docs/connection-errors.md."""

    name: str
    kind: Kind
    text: str
    means: str
    do: str
    scene: Scene


class Cases(list[Case]):
    """Filled by decorating scenes, in the order of the page."""

    def add(self, kind: Kind, text: str, means: str, do: str) -> Callable[[Scene], Scene]:
        """The case that this scene makes; its name is the scene's."""

        def keep(scene: Scene) -> Scene:
            self.append(Case(scene.__name__.replace("_", " "), kind, text, means, do, scene))
            return scene

        return keep
