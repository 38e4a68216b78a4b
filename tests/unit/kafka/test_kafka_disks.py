"""Log directories as disks."""

from __future__ import annotations

import pytest

from exporter.model.common import Disk
from exporter.model.kafka import LogDir
from exporter.model.kafka_disks import disks


@pytest.mark.parametrize(
    ("limit", "usable", "expected"),
    [
        (0.05, 40, Disk("1", "/d", 40, 50, True)),
        (0.05, 60, Disk("1", "/d", 60, 50, False)),
        (10, 9, Disk("1", "/d", 9, 10, True)),
        (10, None, Disk("1", "/d", None, 10, None)),
    ],
)
def test_the_alarm_is_free_space_below_the_limit(limit: float, usable: int | None, expected: Disk) -> None:
    assert disks([LogDir(1, "/d", False, 5, 1000, usable)], limit) == (expected,)


def test_an_offline_directory_is_an_alarm_and_its_space_unknown() -> None:
    assert disks([LogDir(1, "/d", True, None, None, None)], 0.05) == (Disk("1", "/d", None, None, True),)


def test_a_broker_that_cannot_say_raises_no_alarm() -> None:
    assert disks([LogDir(1, "/d", False, 5, None, None)], 0.05) == (Disk("1", "/d", None, None, None),)
