"""What a lab remembers of itself, and what it must not believe."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from drills.lab import record
from drills.lab.processes import Process, process_of
from drills.lab.record import Record, Settings

RECORD = Record("demo", 17000, ("kafka",), "cluster", ("a", "b", "c"), {"kafka-1": "40m"}, Settings(net_ticktime=8))


def test_a_record_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    record.save(tmp_path, RECORD)
    assert RECORD == record.load(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 1}', '{"version": 0, "name": "demo"}'])
def test_what_is_no_whole_record_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "lab.json").write_text(text)
    assert record.load(tmp_path) is None


def test_a_record_with_an_unknown_key_is_none(tmp_path: Path) -> None:
    record.save(tmp_path, RECORD)
    raw = json.loads((tmp_path / "lab.json").read_text())
    (tmp_path / "lab.json").write_text(json.dumps({**raw, "other": 1}))
    assert record.load(tmp_path) is None


def test_a_running_process_comes_back(tmp_path: Path) -> None:
    me = process_of(os.getpid())
    assert me is not None
    record.save_process(tmp_path / "p.json", me)
    assert me == record.load_process(tmp_path / "p.json")


def test_a_pid_that_another_process_has_now_is_none(tmp_path: Path) -> None:
    me = process_of(os.getpid())
    assert me is not None
    record.save_process(tmp_path / "p.json", Process(me.pid, me.started - 1))
    assert record.load_process(tmp_path / "p.json") is None


def test_a_process_of_an_earlier_boot_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    me = process_of(os.getpid())
    assert me is not None
    monkeypatch.setattr(record, "boot_id", lambda: "earlier")
    record.save_process(tmp_path / "p.json", me)
    monkeypatch.undo()
    assert record.load_process(tmp_path / "p.json") is None


@pytest.mark.parametrize("text", ["", "{", "{}", '{"pid": "x", "started": 1}'])
def test_a_damaged_note_of_a_process_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "p.json").write_text(text)
    assert record.load_process(tmp_path / "p.json") is None
