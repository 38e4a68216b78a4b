"""Criterion 2: lag and age belong to a partition; their sum over the topic hides which one is stuck."""

from __future__ import annotations

from drills.criteria.findings import Findings
from drills.criteria.partition_lag import oracle
from drills.model.seen import CaseSeen, Seen
from drills.model.verdict import Judgement

CASE, HELD = "hot", "0"


def judge(seen: Seen) -> Judgement:
    """H: p1 and p2 finish, p0 is held: lag 216 / 0 / 0 by three witnesses; only the age of p0 grows."""
    findings = Findings(seen)
    case = findings.case(CASE)
    ids, counts = seen.parameters["ids"]["hot"], seen.parameters["hot_counts"]
    if case is not None:
        findings.confirmed_before(case, ids)
        oracle.records(findings, case, dict.fromkeys(ids, 3))
        oracle.lags(findings, case, "lag_before", counts)
        if _was_held(findings, case):
            oracle.lags(
                findings, case, "lag_held", {number: counts[number] if number == HELD else 0 for number in counts}
            )
            _ages(findings, case)
        _hidden(findings, case)
        findings.each_once(CASE, case, ids)
        findings.clean(CASE, case)
    return findings.judgement(
        f"lag {counts[HELD]} / 0 / 0 by exporter, admin API and log; the sum alone hides that one partition has it all"
    )


def _was_held(findings: Findings, case: CaseSeen) -> bool:
    """Nothing of p0 was done; what was committed of it all the same was committed without being done."""
    found, offsets = case.facts.get("at_hold"), case.facts.get("offsets_held")
    if found is None or offsets is None:
        findings.unknown("effects or offsets were not read while partition 0 was held")
        return False
    done = [event for event in found["effects"] if oracle.partition(event, 3) == int(HELD)]
    findings.note(done_of_held=len(done), offsets_held=offsets)
    if done:
        findings.unknown(f"partition 0 was not held: {len(done)} of its events were applied")
        return False
    if offsets["committed"].get(HELD):
        ids = [event for event in findings.seen.parameters["ids"]["hot"] if oracle.partition(event, 3) == int(HELD)]
        findings.wrong(
            f"offset {offsets['committed'][HELD]} of partition 0 is committed, and nothing of it is done", ids
        )
    return True


def _ages(findings: Findings, case: CaseSeen) -> None:
    first, later = case.facts.get("ages_first"), case.facts.get("ages_later")
    findings.note(ages_first=first, ages_later=later)
    if first is None or later is None or None in (*first.values(), *later.values()):
        findings.unknown("the ages were not told")
        return
    old = {number: age for ages in (first, later) for number, age in ages.items() if number != HELD and age != 0}
    if old:
        findings.wrong(f"partitions without lag have an age: {old}")
    if later[HELD] <= first[HELD]:
        findings.wrong(f"the age of partition 0 did not grow: {first[HELD]:g} s, then {later[HELD]:g} s")


def _hidden(findings: Findings, case: CaseSeen) -> None:
    """What a sum over partitions would have shown, beside what it hides; for the report."""
    before, held, ages = (case.facts.get(name) for name in ("lag_before", "lag_held", "ages_later"))
    if before is None or held is None or ages is None:
        return
    now = {number: lag for number, lag in held["admin"].items() if lag is not None}
    total, worst = sum(now.values()), max(now.values(), default=0)
    findings.note(
        sum_before=sum(lag for lag in before["admin"].values() if lag is not None),
        sum_while_held=total,
        share_of_worst_partition=worst / total if total else None,
        age_by_partition=ages,
    )
