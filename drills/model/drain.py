"""Whether a queue or group was really drained: a zero alone proves nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

APART = 5.0  # seconds: RabbitMQ lists counts that it refreshes every five seconds


@dataclass(frozen=True, slots=True)
class Reading:
    """One reading of what is left: waiting and handed out, from the broker. `at`: monotonic seconds."""

    at: float
    waiting: int
    unacked: int

    @property
    def is_zero(self) -> bool:
        """Whether nothing is left in it."""
        return self.waiting == 0 and self.unacked == 0


@dataclass(frozen=True, slots=True)
class Drain:
    """What was seen of one drain. `leader`: who led then; `sentinel`: the message published last and consumed."""

    leader: str | None
    sentinel: str | None
    readings: Sequence[Reading]

    def lack(self) -> str | None:
        """What is missing for a proof; None when it is proven."""
        if not self.leader:
            return "no leader was seen"
        if not self.sentinel:
            return "no sentinel was consumed"
        zeros = self._last_zeros()
        if not zeros:
            return f"the last reading is not zero: {self.readings[-1]}" if self.readings else "nothing was read"
        apart = zeros[-1].at - zeros[0].at
        return None if apart > APART else f"two zero readings more than {APART:.0f} s apart are needed, not {apart:.1f}"

    def _last_zeros(self) -> list[Reading]:
        """The zero readings since the last one that was not."""
        zeros: list[Reading] = []
        for reading in self.readings:
            zeros = [*zeros, reading] if reading.is_zero else []
        return zeros
