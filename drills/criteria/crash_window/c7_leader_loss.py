"""Criterion 7: the leader of a quorum queue is lost, and nothing that was confirmed is."""

from __future__ import annotations

from drills.criteria.findings import Findings
from drills.model.seen import CaseSeen, Seen
from drills.model.verdict import Judgement

CASE = "leader-loss"
FAULTS = ("stop_node", "kill_node")


def judge(seen: Seen) -> Judgement:
    """Three replicas online, 100 confirmed, the leader's node is stopped: a new leader, and all 100 are read."""
    findings = Findings(seen)
    case = findings.case(CASE)
    ids = seen.parameters["ids"][CASE]
    if case is not None:
        _confirmed(findings, case, ids)
        if findings.bite(case, FAULTS):
            _moved(findings, case)
        _read_meanwhile(findings, case, ids)
        findings.each_once(CASE, case, ids)
        findings.clean(CASE, case)
    return findings.judgement(f"the leader moved, and all {len(ids)} confirmed events were read without the old one")


def _confirmed(findings: Findings, case: CaseSeen, ids: list[str]) -> None:
    findings.confirmed_before(case, ids)
    before = case.facts.get("queue_before")
    findings.note(before=before)
    if before is None or not before["leader"] or len(before["online"]) != 3:
        findings.unknown("three replicas online with a leader were not seen before the fault")
    elif before["ready"] != len(ids):
        findings.unknown(f"a depth of {len(ids)} was not seen before the fault, but {before['ready']}")


def _moved(findings: Findings, case: CaseSeen) -> None:
    before, after = case.facts.get("queue_before"), case.facts.get("queue_after")
    stopped = case.facts.get("stopped")
    findings.note(after=after, stopped=stopped)
    if before is None or after is None or stopped is None:
        findings.unknown("leader before, leader after or the stopped node are not known")
    elif before["leader"] != stopped:
        findings.unknown(f"{stopped} was stopped, while {before['leader']} led: nothing was shown")
    elif not after["leader"] or after["leader"] == stopped or stopped in after["online"]:
        findings.wrong(f"no new leader: {after['leader']} leads, online are {', '.join(after['online'])}")


def _read_meanwhile(findings: Findings, case: CaseSeen, ids: list[str]) -> None:
    found = case.facts.get("read_without_it")
    if found is None:
        findings.unknown("what was read without the old leader is not known")
        return
    absent = sorted(set(ids) - set(found["effects"]))
    if absent:
        findings.wrong(f"not read without the old leader: {', '.join(absent)}", absent)
