"""The account of a case, read from the business database by a connection that no worker uses.

The cases of the checker get theirs by the same code.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from drills import checker
from drills.business.checkpoint import Checkpoint, Reader
from drills.business.handling import Business, Event
from drills.engine.seeing import account
from drills.engine.undo import first_line
from drills.ledger import Ledger
from drills.reconcile import Account

SOURCE = "the business database, by the driver's own connection"


def noted(ledger: Ledger, business_url: str, case: str) -> Checkpoint:
    """What the business database holds of a case, noted as its facts `effects` and `quarantined`."""
    reader = Reader(business_url, ledger.run, case)
    try:
        found = reader.checkpoint()
    finally:
        reader.close()
    ledger.fact(case, "effects", dict(found.effects), SOURCE)
    ledger.fact(case, "quarantined", found.quarantined, SOURCE)
    return found


def check_the_checker(ledger: Ledger, business_url: str) -> None:
    """Plants events in the run's own tables and sees what the reconciliation makes of them; stored as a fact.

    What stops it is stored too: the run can't pass then.
    """
    try:
        checker.check(ledger, _applied(ledger, business_url), _accounts(ledger, business_url))
    except Exception as error:  # noqa: BLE001 - a checker that can't run proves nothing, whatever the reason
        ledger.fact("", checker.FACT, {"error": f"{type(error).__name__}: {first_line(error)}"}, "drills.checker")


def _applied(ledger: Ledger, business_url: str) -> Callable[[str, str], None]:
    def apply(case: str, event_id: str) -> None:
        business = Business(business_url, ledger.run, case, checker.WORKER, has_inbox=False)
        try:
            business.create()
            with business.transaction() as connection:
                business.handle(connection, Event(event_id, str(time.time()).encode(), checker.PLACE), checker.WORKER)
        finally:
            business.close()

    return apply


def _accounts(ledger: Ledger, business_url: str) -> Callable[[str], Account]:
    def of(case: str) -> Account:
        noted(ledger, business_url, case)
        found = account(ledger, case, ledger.facts()[case])
        assert found is not None, "its effects were noted just now"
        return found

    return of
