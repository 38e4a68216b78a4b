"""What the reader asks of record ages: nothing is read from remote storage, and brokers aren't made to search there."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from exporter.clients.kafka.assembly import World, wanted_of
from exporter.clients.kafka.commits import CommitTable
from exporter.clients.kafka.ends import EndTable
from exporter.clients.kafka.messages.metadata import PartitionRow, TopicRow
from exporter.model.kafka import TopicSettings
from exporter.model.record_time import Wanted

TOPIC_ID = b"t" * 16


def asked(remote: bool, may_read: bool | None, offset: int) -> Wanted:
    """A partition from 0 to 100 whose records below 60 are in remote storage, if any are."""
    row = TopicRow(0, "orders", TOPIC_ID, False, (PartitionRow(0, 0, 7, 3, 3),), may_read)
    table = EndTable({"orders": row})
    ends = table.topics["orders"]
    ends.starts[0], ends.stables[0], ends.highs[0] = 0, 90, 100
    if remote:
        table.local_starts["orders", 0] = 60
    settings = SimpleNamespace(of=lambda _: TopicSettings(remote_storage=remote))
    world = World({"orders": row}, table, CommitTable(), {})
    (wanted,) = wanted_of(world, settings, "orders", [(0, offset)], True)  # type: ignore[arg-type]
    return wanted


@pytest.mark.parametrize(
    ("remote", "may_read", "offset", "readable"),
    [
        (False, True, 5, True),
        (False, None, 5, True),
        (False, False, 5, False),
        (True, True, 5, False),
        (True, True, 60, True),
    ],
)
def test_only_local_records_that_may_be_read_are_asked_for(
    remote: bool, may_read: bool | None, offset: int, readable: bool
) -> None:
    expected = Wanted("orders", TOPIC_ID, 0, offset, 0, 100, 90, 7, readable, remote)
    assert expected == asked(remote, may_read, offset)
