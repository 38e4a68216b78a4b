"""How much memory glibc keeps for later: that of a few threads, and not of every one that once read a large answer."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress

M_ARENA_MAX = -8  # malloc.h
ARENAS = 2


def few_arenas() -> None:
    """Call it before threads start. Does nothing where `MALLOC_ARENA_MAX` is set or malloc is not glibc's."""
    if "MALLOC_ARENA_MAX" not in os.environ:
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).mallopt(M_ARENA_MAX, ARENAS)
