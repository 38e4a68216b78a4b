"""`--rto`: met, missed, and unknown."""

from __future__ import annotations

import pytest

from drills.engine.recovery_time import judge
from drills.model.seen import CaseSeen, Seen
from drills.model.verdict import Verdict

JUDGED = {
    "met": ({"a": 2.0, "b": 5.0}, Verdict.PASS, "at most 5 s"),
    "missed": ({"a": 2.0, "b": 5.1}, Verdict.FAIL, "later than 5 s: b: 5.1 s"),
    "missed beside unknown": ({"a": None, "b": 5.1}, Verdict.FAIL, "later than 5 s: b: 5.1 s"),
    "unknown": ({"a": None, "b": 2.0}, Verdict.UNKNOWN, "no effect came after the fault in a"),
    "no fault": ({}, Verdict.UNKNOWN, "no case had a fault"),
}


@pytest.mark.parametrize("case", JUDGED)
def test_the_time_to_service_is_judged(case: str) -> None:
    took, verdict, because = JUDGED[case]
    facts = {name: {"recovery": {"service_seconds": seconds}} for name, seconds in took.items()}
    seen = Seen({}, {name: CaseSeen(True, facts.get(name, {})) for name in ("a", "b")})
    assert (verdict, because) == ((found := judge(seen, ("a", "b"), 5.0)).verdict, found.because)
