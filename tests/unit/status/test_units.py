"""Numbers as people read them."""

from __future__ import annotations

import pytest

from exporter.status.units import counted, duration, exact_seconds, number, size


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (None, "unknown"),
        (0, "0 s"),
        (0.04, "0 s"),
        (3.4, "3.4 s"),
        (4.0, "4 s"),
        (9.96, "10 s"),
        (59.4, "59 s"),
        (59.6, "1 min 00 s"),
        (192, "3 min 12 s"),
        (7511.4, "2 h 05 min"),
        (86_400, "1 d 0 h"),
        (518_400 + 7200, "6 d 2 h"),
        (-5, "-5 s"),
    ],
)
def test_durations(seconds: float | None, expected: str) -> None:
    assert expected == duration(seconds)


def test_exact_seconds_stand_beside_what_was_rounded() -> None:
    assert ["", "", "7,511 s"] == [exact_seconds(None), exact_seconds(59), exact_seconds(7511.4)]


@pytest.mark.parametrize(
    ("count", "expected"),
    [(None, "unknown"), (0, "0 B"), (1023, "1023 B"), (2048, "2.0 KiB"), (3.2 * 1024**4, "3.2 TiB")],
)
def test_sizes(count: float | None, expected: str) -> None:
    assert expected == size(count)


def test_counts() -> None:
    assert ["unknown", "1,234,567"] == [number(None), number(1_234_567)]
    assert ["0 queues", "1 queue", "3 entries"] == [
        counted(0, "queue"),
        counted(1, "queue"),
        counted(3, "entry", "entries"),
    ]
