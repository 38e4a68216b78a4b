"""The soak's verdict: every check is seen to hold and to fail, and the picture shows what a person looks for."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks import memory
from benchmarks.soak import plot, record
from benchmarks.soak.checks import Trouble
from benchmarks.soak.record import Account, Row
from benchmarks.soak.restarts import plan

ROW = Row(0.0, 60.0, 900, 90_000, 1.5, 0.05, 0.2, 30, 20, 0, 0, 1.0)
TROUBLE = Trouble("kafka", "kafka-1", "stop", 1100.0, 1140.0)


def account() -> Account:
    rows = [replace(ROW, second=2.0 * number) for number in range(100)]
    return Account(rows, right=50, calm=50, incomplete=1, troubles=[TROUBLE], workload={"born": 3, "gone": 2})


def failed(found: Account) -> list[int]:
    return [number for number, check in enumerate(record.verdict(found, 1)) if not check.held]


def test_a_good_run_holds_every_check() -> None:
    assert [] == failed(account())


def leak(found: Account) -> None:
    found.rows = [replace(row, rss_mb=60 + number / 8) for number, row in enumerate(found.rows)]


def more_files(found: Account) -> None:
    found.rows = [replace(row, files=30 + number // 5) for number, row in enumerate(found.rows)]


@pytest.mark.parametrize(
    ("change", "check"),
    [
        (lambda found: found.failed.append("second 4: status 500"), 0),
        (lambda found: found.rows.clear(), 0),
        (lambda found: found.wrong.append("second 4: lag"), 1),
        (lambda found: setattr(found, "incomplete", 2), 2),
        (lambda found: setattr(found, "calm", 0), 2),
        (lambda found: setattr(found, "unjudged", 6), 3),
        (lambda found: setattr(found, "right", 0), 3),
        (leak, 4),
        (more_files, 5),
        (lambda found: found.workload.update(gone=0), 6),
        (lambda found: setattr(found, "troubles", []), 7),
        (lambda found: found.faults.append("1 tracebacks in the exporter's log"), 8),
    ],
)
def test_each_check_can_fail(change: Callable[[Account], None], check: int) -> None:
    found = account()
    change(found)
    assert check in failed(found)


def test_growth_is_that_of_the_best_line_after_the_warm_up() -> None:
    climbing = [(float(x), 10.0 * min(x, 20)) for x in range(101)]
    assert 0.0 == pytest.approx(memory.growth(climbing))
    assert 7.5 == pytest.approx(memory.growth([(float(x), 60 + x / 10) for x in range(101)]))
    hour = [(2.0 * x, 0.0) for x in range(1801)]
    assert 600.0 == memory.after_warm_up(hour)[0][0]
    assert 0.0 == memory.growth([])


def test_each_node_is_stopped_and_killed_in_turn() -> None:
    expected = [
        ("kafka", "kafka-1", "stop"), ("rabbitmq", "rabbitmq-1", "kill"),
        ("kafka", "kafka-2", "kill"), ("rabbitmq", "rabbitmq-2", "stop"),
        ("kafka", "kafka-3", "stop"), ("rabbitmq", "rabbitmq-3", "kill"),
        ("kafka", "kafka-1", "kill"), ("rabbitmq", "rabbitmq-1", "stop"),
    ]  # fmt: skip
    assert expected == list(islice(plan(), 8))


def test_what_is_written_can_be_read_again(tmp_path: Path) -> None:
    found = account()
    found.wrong.append("second 4: lag")
    record.write(tmp_path, found, record.verdict(found, 1))
    written = json.loads((tmp_path / "soak.json").read_text())
    assert ("failed", ["second 4: lag"]) == (written["verdict"], written["wrong"])
    assert 60.0 == written["summary"]["rss_mb"]
    assert 100 == len(list(csv.DictReader((tmp_path / "soak.csv").open())))


def test_the_picture_is_valid_and_names_the_restarts() -> None:
    picture = plot.svg(account().rows, [TROUBLE], 1000.0, "a < b")
    texts = [element.text for element in ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")]
    assert {"a < b", "kafka-1 stop", *(name for name, _ in plot.PANELS)} <= set(texts)
    assert 9 == sum("<path" in line for line in picture.splitlines())
