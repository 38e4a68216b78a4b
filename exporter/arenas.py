"""How much memory glibc keeps for later: that of a few threads, and never that of a page or a large answer.

Source: mallopt(3).
"""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress

ARENAS = 2
LARGE = 1 << 20  # bytes: what is larger is given back as soon as it is freed
SETTINGS = (  # number in malloc.h, the variable that sets the same, value
    (-8, "MALLOC_ARENA_MAX", ARENAS),
    (-3, "MALLOC_MMAP_THRESHOLD_", LARGE),  # set, it no longer grows to the largest thing that was freed
    (-1, "MALLOC_TRIM_THRESHOLD_", LARGE),
)


def keep_little() -> None:
    """Call it before threads start. Leaves alone what the environment sets, and a malloc that is not glibc's."""
    with suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None)
        for number, variable, value in SETTINGS:
            if variable not in os.environ:
                libc.mallopt(number, value)
