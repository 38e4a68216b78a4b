"""A projection is what accounts have, in whatever order the events came."""

from __future__ import annotations

from drills.business.projection import projection

A, B = ({"event_id": "e", "accountId": name, "amountMinor": 100, "currency": "VND"} for name in ("a", "b"))


def test_it_is_the_sum_by_account_and_currency() -> None:
    euro = {**A, "currency": "EUR", "amountMinor": 7}
    assert {"a": {"EUR": [1, 7], "VND": [2, 200]}, "b": {"VND": [1, 100]}} == projection([A, B, euro, A])["accounts"]


def test_the_order_does_not_matter_and_everything_else_does() -> None:
    first = projection([A, B, A])["hash"]
    assert first == projection([A, A, B])["hash"]
    for other in ([A, B], [A, B, A, A], [A, B, {**A, "currency": "EUR"}], [A, B, {**A, "amountMinor": 99}], [A, B, B]):
        assert first != projection(other)["hash"]
