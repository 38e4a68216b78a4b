"""One clock for all processes of a run: seconds since 1970 as the driver had it when it began, going on evenly.

What came first and how long it took is judged by it: a machine's clock that is set while a drill runs changes neither.
"""

from __future__ import annotations

import os
import time

VARIABLE = "MQOPS_CLOCK"  # tells workers what is between the two clocks of the machine
OFFSET = float(os.environ.get(VARIABLE) or time.time() - time.monotonic())


def now() -> float:
    """Seconds since 1970."""
    return OFFSET + time.monotonic()
