"""The business database in a real PostgreSQL keeps every promise that it keeps in SQLite."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from contextlib import closing
from queue import SimpleQueue

import psycopg
import pytest

from drills.business.checkpoint import Checkpoint, Reader
from drills.business.handling import Handled
from drills.lab.waiting import wait_for
from tests.unit.drills.business import test_handling
from tests.unit.drills.business.test_handling import E005, business, handle

CLAIMS = [claim for name, claim in vars(test_handling).items() if name.startswith("test_")]


def test_every_promise_takes_the_url_of_a_database() -> None:
    assert {("url",)} == {tuple(inspect.signature(claim).parameters) for claim in CLAIMS}


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.__name__.removeprefix("test_"))
def test_the_promises_in_postgresql(claim: Callable[[str], None], postgresql_url: str) -> None:
    claim(postgresql_url)


def test_a_second_handler_of_an_event_waits_for_the_commit_of_the_first(postgresql_url: str) -> None:
    """Two connections write at once, which SQLite never does: the unique key decides, and nothing is done twice."""
    with closing(business(postgresql_url)) as one, closing(business(postgresql_url)) as two:
        answers: SimpleQueue[Handled] = SimpleQueue()
        second = threading.Thread(target=lambda: answers.put(handle(two, E005)))
        with one.transaction() as connection:
            assert Handled.APPLIED == one.handle(connection, E005, "w")
            second.start()
            wait_for("the second waits for a lock", lambda: _nobody_waits(postgresql_url), 20)
            assert answers.empty()
        second.join(20)
        assert Handled.REPEATED == answers.get(timeout=20)
    with closing(Reader(postgresql_url, "r", "c")) as reader:
        assert Checkpoint({"E005": E005.payload_hash}, 1, {"E005": 1}, []) == reader.checkpoint()


def _nobody_waits(url: str) -> str | None:
    query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    with psycopg.connect(url) as connection:
        row = connection.execute(query).fetchone()
    return None if row and row[0] else "nobody waits"
