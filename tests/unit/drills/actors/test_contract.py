"""Two writers and two readers of one contract, and everything that is no event."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from drills.actors import contract
from drills.actors.contract import INVALID, MALFORMED, UNSUPPORTED, Read, UnreadableError
from drills.actors.messages import Message, account_id

EVENT, ACCOUNT = "account-0001-101", "account-0001"
V1 = {"event_id": EVENT, "accountId": ACCOUNT, "amountMinor": 100}
V2 = {**V1, "currency": "VND"}
WHOLE = {**V2, "schema_version": 2, "run": "run", "case": "case"}


@pytest.mark.parametrize(("writer", "reader", "fields"), [(1, 1, V1), (1, 2, V2), (2, 1, V1), (2, 2, V2)])
def test_every_reader_reads_every_writer(writer: int, reader: int, fields: dict[str, Any]) -> None:
    body = contract.write(writer, EVENT, ACCOUNT, 100, "run", "case")
    assert Read("run", "case", EVENT, 100, fields) == contract.read(body, reader)
    assert body == Message(EVENT, 100, "salt").body("run", "case", writer)


def test_version_1_has_no_currency_and_version_2_has() -> None:
    found = [json.loads(contract.write(version, EVENT, ACCOUNT, 100, "run", "case")) for version in (1, 2)]
    assert [None, "VND"] == [one.get("currency") for one in found]
    assert [1, 2] == [one["schema_version"] for one in found]


def test_wrong_readers_refuse_what_the_right_ones_take() -> None:
    old, new = (contract.write(version, EVENT, ACCOUNT, 100, "run", "case") for version in (1, 2))
    for body, reader, wrong in ((new, 1, contract.STRICT), (old, 2, contract.NO_DEFAULT)):
        with pytest.raises(UnreadableError, match=INVALID):
            contract.read(body, reader, wrong)
    assert V1 == contract.read(old, 1, contract.STRICT).fields
    assert V2 == contract.read(new, 2, contract.NO_DEFAULT).fields


def but(**values: Any) -> bytes:
    return json.dumps({key: one for key, one in {**WHOLE, **values}.items() if one is not ...}).encode()


UNREADABLE = {
    "nothing": (b"", MALFORMED),
    "no text": (b"\xff\xfe{", MALFORMED),
    "cut off": (but()[:-3], MALFORMED),
    "a list": (b"[]", MALFORMED),
    "a number": (b"7", MALFORMED),
    "null": (b"null", MALFORMED),
    "nested beyond all bounds": (b"[" * 1_000_000, MALFORMED),
    "nested objects": (b'{"a":' * 1_000_000, MALFORMED),
    "an amount in words": (but(amountMinor="one hundred"), INVALID),
    "an amount as text": (but(amountMinor="100"), INVALID),
    "a fraction": (but(amountMinor=99.5), INVALID),
    "true": (but(amountMinor=True), INVALID),
    "below nothing": (but(amountMinor=-1), INVALID),
    "more than a database holds": (but(amountMinor=10**30), INVALID),
    "infinity": (but(amountMinor=float("inf")), INVALID),
    "no account": (but(accountId=...), INVALID),
    "no ID": (but(event_id=...), INVALID),
    "an empty ID": (but(event_id=""), INVALID),
    "an ID that no table holds": (but(event_id="x" * 201), INVALID),
    "an ID with a NUL": (but(event_id="a\0b"), INVALID),
    "an ID over two lines": (but(event_id="a\nb"), INVALID),
    "half a letter": (
        b'{"event_id": "\\ud800", "accountId": "a", "amountMinor": 1, "run": "r", "case": "c"}',
        MALFORMED,
    ),
    "no currency that there is": (but(currency="dong"), INVALID),
    "a version to come": (but(schema_version=99), UNSUPPORTED),
    "version 0": (but(schema_version=0), UNSUPPORTED),
    "a version as text": (but(schema_version="2"), UNSUPPORTED),
    "a version that is a list": (but(schema_version=[2]), UNSUPPORTED),
    "a version that is true": (but(schema_version=True), UNSUPPORTED),
}


@pytest.mark.parametrize(("body", "error_class"), UNREADABLE.values(), ids=UNREADABLE)
def test_what_can_not_be_read_says_why_and_by_which_schema(body: bytes, error_class: str) -> None:
    with pytest.raises(UnreadableError) as caught:
        contract.read(body, 2)
    found = caught.value
    assert (error_class, contract.fingerprint(2)) == (found.error_class, found.fingerprint)
    assert 0 < len(found.reason) <= 600


def test_damaged_events_are_read_or_named_and_nothing_else() -> None:
    drawn = random.Random(7)
    for _ in range(5_000):
        body = bytearray(but())
        for _ in range(drawn.randint(1, 4)):
            body[drawn.randrange(len(body))] = drawn.randrange(256)
        try:
            found = contract.read(bytes(body), drawn.choice((1, 2)))
        except UnreadableError:
            continue
        assert found.fields is not None
        assert len(found.event_id.encode()) <= 800  # it can be stored: no half letter, no NUL
        assert "\0" not in found.event_id


def test_the_readers_have_schemas_of_their_own() -> None:
    prints = [contract.fingerprint(version) for version in (1, 2)]
    assert [64, 64] == [len(one) for one in prints]
    assert prints[0] != prints[1]


def test_an_event_of_another_case_is_a_stranger() -> None:
    found = contract.read(but(case="other"), 2)
    assert f"run/other/{EVENT}" == account_id((found.run, found.case, found.event_id), "run", "case")
    assert EVENT == account_id(("run", "case", EVENT), "run", "case")


def test_what_can_not_be_read_is_named_where_its_bytes_name_it() -> None:
    cases: dict[bytes, tuple[str, str, str] | None] = {
        but(amountMinor="one hundred"): ("run", "case", EVENT), but(schema_version=99): ("run", "case", EVENT),
        but(event_id=7): None, but(run=..., amountMinor=-1): None, but(event_id="a\nb"): None, b"{": None,
    }  # fmt: skip
    for body, named in cases.items():
        with pytest.raises(UnreadableError) as caught:
            contract.read(body, 2)
        assert named == caught.value.named, body
