"""What the poller needs of a client, whatever the system."""

from __future__ import annotations

from typing import Any, Protocol

from exporter.model.common import ClusterSnapshot


class Reader(Protocol):
    """Owns the connections, caches and history of one cluster; used by one thread at a time."""

    def poll(self) -> ClusterSnapshot:
        """Read what can be read, within the configured deadlines. Never raises because of a broker.

        What could not be read is absent from the snapshot and stands in the problems of its collector run.
        """
        ...

    def state(self) -> dict[str, Any]:
        """Whatever should survive a restart (history for estimates), as JSON values."""
        ...

    def restore(self, state: dict[str, Any]) -> None:
        """Take back what `state` gave; anything that does not fit is ignored."""
        ...

    def close(self) -> None:
        """Close every connection. May be called twice."""
        ...
