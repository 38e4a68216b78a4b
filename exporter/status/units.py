"""Numbers as people read them. What is not known has no number: `unknown`."""

from __future__ import annotations

UNKNOWN = "unknown"


def duration(seconds: float | None) -> str:
    """`45 s`, `3 min 12 s`, `2 h 05 min`, `3 d 4 h`; below ten seconds with one decimal."""
    if seconds is None:
        return UNKNOWN
    if seconds < 0:
        return f"-{duration(-seconds)}"
    if seconds < 9.95:
        return f"{seconds:.1f} s".replace(".0 ", " ")
    whole = round(seconds)
    days, rest = divmod(whole, 86400)
    hours, rest = divmod(rest, 3600)
    minutes, left = divmod(rest, 60)
    if days:
        return f"{days} d {hours} h"
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {left:02} s" if minutes else f"{left} s"


def exact_seconds(seconds: float | None) -> str:
    """The same with all its seconds: `7,500 s`; empty where `duration` already says it."""
    return f"{seconds:,.0f} s" if seconds is not None and seconds >= 60 else ""


def size(count: float | None) -> str:
    """`12.3 GiB`."""
    if count is None:
        return UNKNOWN
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(count) < 1024 or unit == "TiB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return UNKNOWN


def number(count: float | None) -> str:
    """`1,234,567`: readable and exact."""
    return UNKNOWN if count is None else f"{count:,.0f}"


def counted(count: int, one: str, many: str = "") -> str:
    """`1 queue`, `3 queues`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
