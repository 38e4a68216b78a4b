"""Criterion 1: every record is where the fixture's partitioner puts it, and the reports, the log and the lag agree."""

from __future__ import annotations

from collections import Counter

from drills.criteria.findings import Findings
from drills.criteria.partition_lag import oracle
from drills.model.seen import CaseSeen, Seen
from drills.model.verdict import Judgement

CASE = "balanced"


def judge(seen: Seen) -> Judgement:
    """B: 360 delivery records (ID, key, partition, offset) match the partition oracle; 120 on each partition."""
    findings = Findings(seen)
    case = findings.case(CASE)
    ids = seen.parameters["ids"]["balanced"]
    if case is not None:
        findings.confirmed_before(case, ids)
        oracle.records(findings, case, dict.fromkeys(ids, 3))
        oracle.logged(findings, case)
        each = Counter(str(oracle.partition(event, 3)) for event in ids)
        oracle.lags(findings, case, "lag_before", each)
        _begins_at_zero(findings, case)
        findings.each_once(CASE, case, ids)
        findings.clean(CASE, case)
    return findings.judgement(f"{len(ids)} of {len(ids)} records are where the oracle says, and were applied once each")


def _begins_at_zero(findings: Findings, case: CaseSeen) -> None:
    """Committed offsets begin at 0, and the log begins there: the lag means these records."""
    found = case.facts.get("offsets_before")
    findings.note(offsets_before=found)
    if found is None:
        findings.unknown("log start and committed offsets were not read")
    elif set(found["start"].values()) != {0} or found["committed"] != found["start"]:
        findings.unknown(f"log start {found['start']} and committed {found['committed']} were to be 0 everywhere")
