"""Criterion 4: partitions raised while old records wait: an account that moved overtakes itself."""

from __future__ import annotations

from drills.criteria.findings import Findings
from drills.criteria.partition_lag import oracle
from drills.model.seen import CaseSeen, Seen
from drills.model.verdict import Judgement

CASE, ACCOUNT = "control-raise-held", "account-0003"


def judge(seen: Seen) -> Judgement:
    """X unsafe: p3..p5 run before p0..p2: at least account-0003 shows its last sequence applied before older ones."""
    findings = Findings(seen)
    case = findings.case(CASE)
    old, new = seen.parameters["ids"]["balanced"], seen.parameters["new_ids"]
    if case is not None:
        if findings.bite(case, ["partitions"]):
            _metadata(findings, case)
            oracle.records(findings, case, {**dict.fromkeys(old, 3), **dict.fromkeys(new, 6)})
            _overtakes(findings, case, new)
        findings.each_once(CASE, case, [*old, *new])
        findings.clean(CASE, case)
    return findings.judgement(
        f"{ACCOUNT} and others were applied out of order after the raise, with every effect there once"
    )


def _metadata(findings: Findings, case: CaseSeen) -> None:
    if case.facts.get("producer_metadata") != 6:
        findings.unknown(f"the producer was not seen to know six partitions: {case.facts.get('producer_metadata')}")


def _overtakes(findings: Findings, case: CaseSeen, new: list[str]) -> None:
    """The wrong result has to show: the account's new event was applied before its old ones."""
    order = case.facts.get("order")
    if order is None:
        findings.unknown("the order of the effects was not read")
        return
    found = oracle.overtakers(order)
    findings.note(negative_control={"applied_before_older_ones": found}, offsets=case.facts.get("offsets_new_first"))
    [expected] = [event for event in new if oracle.account(event) == ACCOUNT]
    if expected not in found:
        findings.wrong(
            f"the negative control did not show its wrong result: {expected} was applied after all older ones",
            [expected],
        )
    stayed = sorted(event for event in found if oracle.partition(event, 3) == oracle.partition(event, 6))
    if stayed:
        findings.wrong(f"out of order though their partition did not change: {', '.join(stayed)}", stayed)
