"""Kafka's log directories as disks with an alarm: Kafka itself has none, so the limit is ours."""

from __future__ import annotations

from collections.abc import Iterable

from exporter.model.common import Disk
from exporter.model.kafka import LogDir


def disks(log_dirs: Iterable[LogDir], limit: float) -> tuple[Disk, ...]:
    """One disk for each directory. `limit` is bytes when it is an int, a share of the disk when it is a float."""
    return tuple(_disk(log_dir, limit) for log_dir in log_dirs)


def _disk(log_dir: LogDir, limit: float) -> Disk:
    least = limit if isinstance(limit, int) else None if log_dir.total is None else int(log_dir.total * limit)
    free = None if log_dir.offline else log_dir.usable
    alarm = True if log_dir.offline else None if free is None or least is None else free < least
    return Disk(str(log_dir.broker), log_dir.path, free, least, alarm)
