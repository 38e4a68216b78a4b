"""Times as they stand in the evidence."""

from __future__ import annotations

import datetime
from typing import overload


@overload
def utc(seconds: float) -> str: ...
@overload
def utc(seconds: None) -> None: ...
def utc(seconds: float | None) -> str | None:
    """Seconds since 1970 as `2026-12-01T02:15:00.123Z`; None stays None."""
    if seconds is None:
        return None
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


def apart(began: float | None, ended: float | None) -> float | None:
    """Seconds from one time to another; None when one of them is not known."""
    return None if began is None or ended is None else round(ended - began, 3)
