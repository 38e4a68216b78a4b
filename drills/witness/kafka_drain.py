"""The proof that a group has drained a topic: leaders, a sentinel through each partition, zero lag that stays zero."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from functools import partial

from drills.lab.errors import LabTimeoutError
from drills.lab.waiting import wait_for
from drills.model.drain import Drain, Reading
from drills.witness.kafka import OffsetsReading, PartitionReading
from drills.witness.rabbitmq import WitnessError

Read = Callable[[], tuple[Sequence[PartitionReading], OffsetsReading]]


def prove(
    read: Read, sentinels: Sequence[str], pass_sentinels: Callable[[Sequence[str]], None], seconds: float
) -> Drain:
    """Sends a sentinel to each partition, waits until all are consumed, and reads until zero stays zero, or time is up.

    `pass_sentinels` raises when one did not get through. Never raises itself: what is missing is missing in the result,
    which says so.
    """
    passed: str | None = None
    try:
        pass_sentinels(sentinels)
        passed = ", ".join(sentinels)
    except Exception:  # noqa: BLE001 - whatever it was, the drain is not proven
        passed = None
    readings: list[Reading] = []
    leaders: list[str | None] = [None]
    look = partial(_lack, read, readings, leaders, passed)
    with contextlib.suppress(LabTimeoutError):
        wait_for("the group stays at the end of the topic", look, seconds if passed else 0.0)
    return Drain(leaders[-1], passed, tuple(readings))


def _lack(read: Read, readings: list[Reading], leaders: list[str | None], passed: str | None) -> str | None:
    try:
        partitions, offsets = read()
    except WitnessError as error:
        return str(error)
    lags = [offsets.lag.get(one.number) for one in partitions]
    if not lags or any(lag is None for lag in lags):
        return "the lag of a partition is unknown"
    leaders.append(led_by(partitions))
    readings.append(Reading(offsets.at, sum(lag for lag in lags if lag is not None), 0))
    return Drain(leaders[-1], passed, tuple(readings)).lack()


def led_by(partitions: Sequence[PartitionReading]) -> str | None:
    """Which broker leads each partition; None when one has no leader."""
    if not partitions or any(one.leader is None for one in partitions):
        return None
    return ", ".join(f"{one.number}: broker {one.leader}" for one in partitions)
