"""The proof that a queue of RabbitMQ is drained: leader, sentinel, two zero readings far enough apart."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial

from drills.lab.errors import LabTimeoutError
from drills.lab.waiting import wait_for
from drills.model.drain import Drain, Reading
from drills.witness.rabbitmq import QueueReading, WitnessError

Read = Callable[[], "QueueReading | None"]


def prove(read: Read, sentinel: str, pass_sentinel: Callable[[str], None], seconds: float) -> Drain:
    """Publishes a sentinel, waits until it is consumed, and reads until zero stays zero, or the seconds are over.

    `pass_sentinel` publishes it, waits for its confirm and for the consumer to have it, and raises when it has not.
    Never raises itself: what is missing is missing in the result, which says so.
    """
    passed: str | None = None
    try:
        pass_sentinel(sentinel)
        passed = sentinel
    except Exception:  # noqa: BLE001 - whatever it was, the drain is not proven
        passed = None
    readings: list[Reading] = []
    leaders: list[str | None] = [None]
    look = partial(_lack, read, readings, leaders, passed)
    with contextlib.suppress(LabTimeoutError):
        wait_for("the queue stays empty", look, seconds if passed else 0.0)
    return Drain(leaders[-1], passed, tuple(readings))


def _lack(read: Read, readings: list[Reading], leaders: list[str | None], passed: str | None) -> str | None:
    try:
        found = read()
    except WitnessError as error:
        return str(error)
    if found is None or found.messages is None or found.unacked is None:
        return "the queue's counts are unknown"
    leaders.append(found.leader)
    readings.append(Reading(found.at, found.messages - found.unacked, found.unacked))
    return Drain(found.leader, passed, tuple(readings)).lack()
