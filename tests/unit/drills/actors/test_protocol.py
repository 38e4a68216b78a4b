"""The lines between driver and worker, hooks, and messages."""

from __future__ import annotations

import io
import json
import threading
from pathlib import Path

import pytest

from drills.actors import messages
from drills.actors.hooks import Hooks
from drills.actors.messages import Message
from drills.actors.protocol import Driver
from drills.actors.rabbitmq_link import Link, LinkError
from drills.actors.worker import _event
from drills.ledger import Ledger
from drills.ledger.database import sqlite_url
from drills.ledger.tables import hooks as table


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    made = Ledger(sqlite_url(tmp_path / "ledger.db"), "run")
    made.create()
    return made


def test_options_come_first_and_events_are_lines() -> None:
    out = io.StringIO()
    driver = Driver(io.StringIO('{"name": "w"}\n'), out)
    driver.say("ready", n=1)
    assert {"name": "w"} == driver.options
    assert {"event": "ready", "n": 1} == json.loads(out.getvalue())


def test_an_unarmed_hook_has_no_effect(ledger: Ledger) -> None:
    Hooks(ledger, "c", "w", lambda *_, **__: None).reach("HOOK", "E001")
    assert [] == list(ledger.rows(table))


def test_an_armed_hook_holds_once_and_is_in_the_ledger_before_it_is_said(ledger: Ledger) -> None:
    said = threading.Event()
    rows_when_said: list[int] = []

    def say(*_: object, **__: object) -> None:
        rows_when_said.append(len(ledger.rows(table)))
        said.set()

    hooks = Hooks(ledger, "c", "w", say)
    hooks.arm("HOOK", "E001")
    held = threading.Thread(target=hooks.reach, args=("HOOK", "E001"), daemon=True)
    held.start()
    assert said.wait(10)
    assert held.is_alive()
    assert [1] == rows_when_said
    hooks.release()
    held.join(10)
    hooks.reach("HOOK", "E001")
    assert [("HOOK", "E001", True)] == [
        (r["hook"], r["event_id"], r["released"] is not None) for r in ledger.rows(table)
    ]


def test_the_same_event_has_the_same_bytes_and_a_stranger_is_named_in_full() -> None:
    body = Message("E001", salt="s").body("run", "case")
    assert Message("E001", salt="s").body("run", "case") == body
    found = messages.read(body)
    assert ("run", "case", "E001", 1, None) == (found.run, found.case, found.event_id, found.amount, found.fields)
    assert "E001" == messages.account_id(("run", "case", "E001"), "run", "case")
    assert "run/case/E001" == messages.account_id(("run", "case", "E001"), "run", "other")


@pytest.mark.parametrize("body", [b"\xff", b"[]", b"{}", b'{"run": "r", "case": "c", "event_id": "E", "amount": "1"}'])
def test_what_is_no_message_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError):
        messages.read(body)


def test_a_link_to_nobody_fails_at_once_and_takes_no_calls() -> None:
    link = Link({"amqp": ["amqp://guest:guest@127.0.0.1:1"], "vhost": "v"}, lambda _: None)
    with pytest.raises(LinkError, match="no connection"):
        link.open(20)
    link._thread.join(10)
    with pytest.raises(LinkError, match="no connection"):
        link.call(lambda: None)


def test_what_a_worker_prints_that_is_no_event_is_kept() -> None:
    assert {"event": "ready"} == _event('{"event": "ready"}\n')
    assert {"event": "printed", "line": "Traceback\n"} == _event("Traceback\n")
