"""The proof that a group has drained a topic: leaders, a sentinel through each partition, zero lag that stays zero."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from drills.model.drain import Drain, Reading
from drills.witness import drain
from drills.witness.kafka import OffsetsReading, PartitionReading

Read = Callable[[], tuple[Sequence[PartitionReading], OffsetsReading]]


def prove(
    read: Read, sentinels: Sequence[str], pass_sentinels: Callable[[Sequence[str]], None], seconds: float
) -> Drain:
    """Sends a sentinel to each partition, waits until all are consumed, and reads until zero stays zero, or time is up.

    `pass_sentinels` raises when one did not get through. Never raises itself: what is missing is missing in the result,
    which says so.
    """
    return drain.prove(lambda: _look(*read()), ", ".join(sentinels), lambda: pass_sentinels(sentinels), seconds)


def _look(partitions: Sequence[PartitionReading], offsets: OffsetsReading) -> tuple[str | None, Reading] | str:
    lags = [offsets.lag.get(one.number) for one in partitions]
    known = [lag for lag in lags if lag is not None]
    if not lags or len(known) < len(lags):
        return "the lag of a partition is unknown"
    return led_by(partitions), Reading(offsets.at, sum(known), 0)


def led_by(partitions: Sequence[PartitionReading]) -> str | None:
    """Which broker leads each partition; None when one has no leader."""
    if not partitions or any(one.leader is None for one in partitions):
        return None
    return ", ".join(f"{one.number}: broker {one.leader}" for one in partitions)
