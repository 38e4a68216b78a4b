"""The proof of a drain, of any broker: a sentinel gets through, and zero stays zero."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from drills.lab.errors import LabTimeoutError
from drills.lab.waiting import wait_for
from drills.model.drain import Drain, Reading
from drills.witness.rabbitmq import WitnessError

Look = Callable[[], "tuple[str | None, Reading] | str"]
"""Who leads and what is left; or, as text, why that is unknown. May raise WitnessError."""


def prove(look: Look, sentinel: str, pass_sentinel: Callable[[], None], seconds: float) -> Drain:
    """Passes the sentinel, which raises when it does not get through, then looks until zero stays zero, or time is up.

    Never raises itself: what is missing is missing in the result, which says so.
    """
    passed: str | None = None
    try:
        pass_sentinel()
        passed = sentinel
    except Exception:  # noqa: BLE001 - whatever it was, the drain is not proven
        passed = None
    readings: list[Reading] = []
    leaders: list[str | None] = [None]

    def lack() -> str | None:
        try:
            found = look()
        except WitnessError as error:
            return str(error)
        if isinstance(found, str):
            return found
        leaders.append(found[0])
        readings.append(found[1])
        return Drain(leaders[-1], passed, tuple(readings)).lack()

    with contextlib.suppress(LabTimeoutError):
        wait_for("what is to be drained stays empty", lack, seconds if passed else 0.0)
    return Drain(leaders[-1], passed, tuple(readings))
