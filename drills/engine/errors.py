"""Why a run ends before its end, or never begins."""

from __future__ import annotations


class Refused(Exception):  # noqa: N818 - it is an answer, not an error
    """A guard refuses, or preflight is not met; the text says which, and what to do. Exit code 3."""


class WrongUse(Exception):  # noqa: N818
    """The command line or a file asks for what there is not. Exit code 2."""


class Aborted(BaseException):
    """The run ends now and is rolled back: Ctrl-C, a watchdog, a stop condition, no more room for its record.

    Not an Exception: no case may go on after it by catching too much.
    """


class Left(BaseException):
    """A second Ctrl-C: the rollback itself is left where it is."""


class UndoError(Exception):
    """A change could not be put back."""
