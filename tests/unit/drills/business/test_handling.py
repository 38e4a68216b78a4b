"""What the business database promises: each event once, whole or not at all, seen by others when committed."""

from __future__ import annotations

from pathlib import Path

import pytest

from drills.business.checkpoint import Checkpoint, Reader
from drills.business.handling import Business, Event, Handled
from drills.ledger.database import connect, sqlite_url

E005 = Event("E005", b'{"amount": 1}', "work")
OTHER = Event("E005", b'{"amount": 2}', "work")


@pytest.fixture
def url(tmp_path: Path) -> str:
    return sqlite_url(tmp_path / "business.db")


def business(url: str, *, case: str = "c", has_inbox: bool = True) -> Business:
    made = Business(url, "r", case, "counter", has_inbox=has_inbox)
    made.create()
    return made


def handle(one: Business, event: Event) -> Handled:
    with one.transaction() as connection:
        return one.handle(connection, event, "w")


def test_an_event_is_applied_once_however_often_it_comes(url: str) -> None:
    one = business(url)
    assert [Handled.APPLIED, Handled.REPEATED] == [handle(one, E005), handle(one, E005)]
    assert Checkpoint({"E005": E005.payload_hash}, 1, {"E005": 1}, []) == Reader(url, "r", "c").checkpoint()


def test_the_same_id_with_another_payload_is_a_conflict_and_changes_nothing(url: str) -> None:
    one = business(url)
    handle(one, E005)
    assert Handled.CONFLICT == handle(one, OTHER)
    assert Checkpoint({"E005": E005.payload_hash}, 1, {"E005": 1}, []) == Reader(url, "r", "c").checkpoint()


def test_without_an_inbox_it_is_applied_twice(url: str) -> None:
    one = business(url, has_inbox=False)
    assert [Handled.APPLIED, Handled.APPLIED] == [handle(one, E005), handle(one, E005)]
    assert Checkpoint({}, 2, {"E005": 2}, []) == Reader(url, "r", "c").checkpoint()


def test_before_the_commit_another_connection_sees_nothing_and_does_not_wait(url: str) -> None:
    one = business(url)
    with one.transaction() as connection:
        one.handle(connection, E005, "w")
        assert Checkpoint({}, 0, {}, []) == Reader(url, "r", "c").checkpoint()
    assert 1 == Reader(url, "r", "c").checkpoint().counter


def test_what_raises_before_the_commit_leaves_nothing(url: str) -> None:
    def fail(one: Business) -> None:
        with one.transaction() as connection:
            one.handle(connection, E005, "w")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail(business(url))
    assert Checkpoint({}, 0, {}, []) == Reader(url, "r", "c").checkpoint()


def test_quarantine_keeps_reason_and_place_and_is_no_effect(url: str) -> None:
    one = business(url)
    one.set_aside(OTHER, "another payload")
    one.set_aside(OTHER, "handed out again")
    row = {"event_id": "E005", "reason": "another payload", "payload_hash": OTHER.payload_hash, "place": "work"}
    first = {**row, "error_class": "", "fingerprint": "", "body": OTHER.body.hex()}
    assert Checkpoint({}, 0, {}, [first]) == Reader(url, "r", "c").checkpoint()
    one.set_aside(Event("", OTHER.body, "work/2"), "no event", error_class="malformed", fingerprint="f")
    second = {**first, "event_id": "", "reason": "no event", "place": "work/2"}
    told = Reader(url, "r", "c").checkpoint().quarantine
    assert [first, {**second, "error_class": "malformed", "fingerprint": "f"}] == list(told)


def test_a_handler_is_read_by_itself_and_its_fields_are_kept(url: str) -> None:
    for handler, fields in (("live", {"amountMinor": 100}), ("rebuild", {"amountMinor": 7})):
        one = Business(url, "r", "c", handler)
        one.create()
        with one.transaction() as connection:
            one.handle(connection, Event("E1", b"1", "work", fields), "w", 3)
    readers = {name: Reader(url, "r", "c", name) for name in ("live", "rebuild", None)}
    assert {"live": 3, "rebuild": 3, None: 6} == {name: one.checkpoint().counter for name, one in readers.items()}
    assert [{"amountMinor": 7}] == readers["rebuild"].fields()
    assert {"E1": 2} == readers[None].checkpoint().effects


def test_a_database_of_an_older_version_is_refused_and_says_what_to_do(url: str) -> None:
    business(url)
    engine = connect(url)
    with engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE effects DROP COLUMN fields")
    engine.dispose()
    with pytest.raises(
        LookupError, match="a table effects of an older version, without fields: name an empty database"
    ):
        business(url)


def test_cases_do_not_meet(url: str) -> None:
    one, two = business(url, case="one"), business(url, case="two")
    handle(one, E005)
    assert Handled.APPLIED == handle(two, E005)
    assert [1, 1] == [Reader(url, "r", case).checkpoint().counter for case in ("one", "two")]


def test_a_case_that_never_was_has_no_counter_rather_than_0(url: str) -> None:
    business(url)
    assert Reader(url, "r", "never").checkpoint().counter is None
