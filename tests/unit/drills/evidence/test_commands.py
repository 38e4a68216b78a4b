"""`mq-drill report` and `mq-drill compare`, on stored runs."""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from drills.commands import compare, report
from drills.engine import evidence
from drills.engine.errors import WrongUse
from drills.ledger import Ledger, tables
from drills.ledger.database import sqlite_url
from tests.stored_run import DRILL, RUN

Command = Callable[..., int]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs a command by its words, with the drill of the stored runs as the only one there is."""
    monkeypatch.setenv("MQOPS_RUNS", str(tmp_path))
    monkeypatch.setattr(evidence, "drills", lambda _: {DRILL.name: DRILL})

    def run(*words: str) -> int:
        parser = argparse.ArgumentParser()
        commands = parser.add_subparsers()
        for module in (report, compare):
            module.add_parser(commands)
        chosen = parser.parse_args(words)
        chosen.catalog = "the tests' own"
        return int(chosen.run(chosen))

    return run


def stored(root: Path, run: Any, name: str) -> Path:
    """A copy of a stored run under another name, as `mq-drill run` leaves it."""
    folder = root / name
    shutil.copytree(run.folder, folder)
    ledger = Ledger(sqlite_url(folder / "ledger.db"), RUN)
    with ledger._engine.begin() as connection:
        for table in tables.metadata.tables.values():
            connection.execute(table.update().values(run=name))
    ledger.close()
    note = {
        "run": name,
        "drill": DRILL.name,
        "target": "dev",
        "ledger_url": "sqlite:///gone",
        "business_url": "sqlite:///gone",
    }
    (folder / "run.json").write_text(json.dumps(note))
    return folder


def test_report_writes_the_evidence_anew_and_says_what_it_says(
    command: Command, tmp_path: Path, failed: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = stored(tmp_path, failed, "a")
    for name in ("drill.json", "report.html", "junit.xml", "timeline.jsonl"):
        (folder / name).unlink()
    assert 0 == command("report", "a")
    assert "FAIL" == json.loads((folder / "drill.json").read_text())["verdict"]
    said = capsys.readouterr().out.splitlines()
    assert said[:3] == [
        "FAIL  a on dev: Criterion 1 failed.",
        "  ! The rollback FAILED. A person is needed.",
        "  ! Still in place: stop_node rabbitmq-2. Run: mq-drill recover a",
    ]
    assert "   1 FAIL     Baseline: 100 confirms, 100 effects" in said
    assert said[-1] == str(folder / "report.html")
    assert (folder / "report.html").exists()


def test_report_of_a_run_that_is_half_done(
    command: Command, tmp_path: Path, half: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    stored(tmp_path, half, "a")
    assert 0 == command("report", "a")
    assert "NOT RUN" in capsys.readouterr().out


def test_a_run_that_is_not_there_is_wrong_use(command: Command) -> None:
    with pytest.raises(WrongUse, match="there is no run 'nothing'"):
        command("report", "nothing")


def test_compare_shows_what_got_worse(
    command: Command, tmp_path: Path, whole: Any, failed: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    stored(tmp_path, whole, "a")
    stored(tmp_path, failed, "b")
    assert 1 == command("compare", "a", "b")
    rows = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "verdict PASS FAIL" in rows
    assert "1 Baseline: 100 confirms, 100 effects PASS FAIL worse" in rows
    assert "2 Killed after commit, before ack PASS UNKNOWN worse" in rows
    assert "after-commit: service 1.4 s -" in rows
    assert "baseline: lost 0 1" in rows
    assert "baseline: duplicate_effect 0 1" in rows
    assert "no-inbox: duplicate_effect 1 -" in rows
    assert not [row for row in rows if row.startswith("baseline: attempted")]


def test_compare_of_a_better_one_and_of_the_same_passes(
    command: Command, tmp_path: Path, whole: Any, failed: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    stored(tmp_path, whole, "a")
    stored(tmp_path, failed, "b")
    assert 0 == command("compare", "b", "a")
    assert "worse" not in capsys.readouterr().out
    assert 0 == command("compare", "a", "a")
    rows = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "after-commit: service 1.4 s 1.4 s (+0.0 s)" in rows
    assert ["none", "none"] == [row for row in rows if row == "none"]


def test_runs_of_different_drills_are_not_compared(command: Command, tmp_path: Path, whole: Any) -> None:
    stored(tmp_path, whole, "a")
    ledger = Ledger(sqlite_url(stored(tmp_path, whole, "b") / "ledger.db"), "b")
    with ledger._engine.begin() as connection:
        connection.execute(tables.runs.update().values(drill="routing"))
    ledger.close()
    with pytest.raises(WrongUse, match="a is a run of crash-window, b one of routing"):
        command("compare", "a", "b")
