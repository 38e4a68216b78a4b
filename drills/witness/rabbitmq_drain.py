"""The proof that a queue of RabbitMQ is drained: leader, sentinel, two zero readings far enough apart."""

from __future__ import annotations

from collections.abc import Callable

from drills.model.drain import Drain, Reading
from drills.witness import drain
from drills.witness.rabbitmq import QueueReading

Read = Callable[[], "QueueReading | None"]


def prove(read: Read, sentinel: str, pass_sentinel: Callable[[str], None], seconds: float) -> Drain:
    """Publishes a sentinel, waits until it is consumed, and reads until zero stays zero, or the seconds are over.

    `pass_sentinel` publishes it, waits for its confirm and for the consumer to have it, and raises when it has not.
    Never raises itself: what is missing is missing in the result, which says so.
    """
    return drain.prove(lambda: _look(read()), sentinel, lambda: pass_sentinel(sentinel), seconds)


def _look(found: QueueReading | None) -> tuple[str | None, Reading] | str:
    if found is None or found.messages is None or found.unacked is None:
        return "the queue's counts are unknown"
    return found.leader, Reading(found.at, found.messages - found.unacked, found.unacked)
