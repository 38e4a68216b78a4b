"""A file that the run writes, such as a setting that an application reads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from drills.faults.change import Change
from drills.lab.record import write_whole
from drills.targets.target import Target


@dataclass(frozen=True)
class File(Change):
    """`text` is written to `path`; `before`: what stood there, None when there was no file."""

    path: str
    text: str
    before: str | None = None

    def prepared(self, target: Target) -> File:  # noqa: ARG002 - a file of this machine
        """With what stands there now."""
        return replace(self, before=self._now())

    def make(self, target: Target) -> None:  # noqa: ARG002
        """Written whole."""
        write_whole(Path(self.path), self.text)

    def bite(self, target: Target) -> dict[str, Any] | None:  # noqa: ARG002
        """The text stands there."""
        return {"path": self.path, "bytes": len(self.text.encode())} if self._now() == self.text else None

    def undo(self, target: Target) -> None:  # noqa: ARG002
        """What stood there stands there again; a text that is neither is somebody else's and stays."""
        now = self._now()
        if now == self.text and self.before is None:
            Path(self.path).unlink()
        elif now == self.text and self.before is not None:
            write_whole(Path(self.path), self.before)

    def undone(self, target: Target) -> str | None:  # noqa: ARG002
        """What stood there stands there."""
        return None if self._now() == self.before else f"{self.path} is not as it was before the run"

    def says(self) -> str:
        """Write it."""
        return f"write {self.path}"

    def undo_says(self) -> str:
        """Put it back."""
        return f"remove {self.path}" if self.before is None else f"put {self.path} back as it was"

    def _now(self) -> str | None:
        try:
            return Path(self.path).read_text()
        except FileNotFoundError:
            return None
