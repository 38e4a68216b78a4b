"""What can go wrong in a lab, said so that the reader knows what to do next."""

from __future__ import annotations


class LabError(Exception):
    """A lab could not do what was asked; the text says what happened and what to do."""


class LabTimeoutError(LabError):
    """A condition did not become true before its deadline; the text says what was last seen."""


class RefusedError(LabError):
    """What was asked is not allowed here (no right to mount, another command is at work); nothing was changed."""
