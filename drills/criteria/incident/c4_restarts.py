"""Criterion 4: leader, broker and consumer are restarted one at a time, and every confirmed event is done once."""

from __future__ import annotations

from drills.criteria.findings import Findings
from drills.criteria.incident.c1_cells import AMOUNT
from drills.model.seen import CaseSeen, Seen
from drills.model.verdict import Judgement

LEADER, BROKER, CONSUMER = "restart-queue-leader", "restart-broker", "restart-consumer"
STOPS = ("stop_node", "kill_node")


def judge(seen: Seen) -> Judgement:
    """Stopped and started with volumes and group kept: all confirmed IDs read again, effects single, checkpoints."""
    findings = Findings(seen, scaled=False)
    for name, look in ((LEADER, _leader), (BROKER, _broker), (CONSUMER, _consumer)):
        case, ids = findings.case(name), seen.parameters["ids"][name]
        if case is None:
            continue
        look(findings, case)
        findings.each_once(name, case, ids, counter=(1 if name == LEADER else AMOUNT) * len(ids))
        findings.clean(name, case)
        _restored(findings, name, case)
    return findings.judgement(
        "the queue's leader, a broker and a consumer came back one by one: each event once, none lost"
    )


def _restored(findings: Findings, name: str, case: CaseSeen) -> None:
    if any(change.is_fault and change.kind in STOPS and not change.undone for change in case.changes):
        findings.wrong(f"{name}: what was stopped was not started again")


def _leader(findings: Findings, case: CaseSeen) -> None:
    findings.confirmed_before(case, findings.seen.parameters["ids"][LEADER])
    if not findings.bite(case, STOPS):
        return
    stopped, after, back = (case.facts.get(name) for name in ("stopped", "queue_after", "queue_back"))
    findings.note(queue_after=after, queue_back=back)
    if after is None or after["leader"] in (None, stopped) or stopped in after["online"]:
        findings.unknown(f"{LEADER}: no other leader was seen while {stopped} was away")
    if back is None or len(back["online"]) != len(back["members"]):
        findings.unknown(f"{LEADER}: not all replicas were seen to be back")


def _broker(findings: Findings, case: CaseSeen) -> None:
    if findings.bite(case, STOPS):
        stopped, without, back = (case.facts.get(name) for name in ("stopped", "replicas_without", "replicas_back"))
        findings.note(replicas_without=without, replicas_back=back)
        if not without or any(one["leader"] in (None, stopped) or stopped in one["in_sync"] for one in without):
            findings.unknown(f"{BROKER}: broker {stopped} was not seen to have left the partitions")
        if not back or any(len(one["in_sync"]) != len(one["replicas"]) for one in back):
            findings.unknown(f"{BROKER}: not all replicas were seen to be in sync again")
    _checkpoints(findings, BROKER, case)


def _consumer(findings: Findings, case: CaseSeen) -> None:
    victim, hook = case.facts.get("victim", ""), "AFTER_DB_COMMIT_BEFORE_ACK"
    if findings.bite(case, ["kill_worker"]) and findings.held(case, hook, victim):
        kept, offsets, handed = (case.facts.get(name) for name in ("at_hook", "offsets_at_hook", "deliveries"))
        findings.note(offsets_at_hook=offsets, deliveries=handed)
        if kept is None or offsets is None or handed is None:
            findings.unknown(f"{CONSUMER}: what was to be seen at the kill was not read")
        elif victim not in kept["effects"]:
            findings.unknown(f"{CONSUMER}: {victim} was not seen to be committed when its consumer was killed")
        elif offsets["committed"].get("0", 0) > findings.seen.parameters["ids"][CONSUMER].index(victim):
            findings.wrong(f"{CONSUMER}: the offset of {victim} was committed before its hook", [victim])
        elif len({one["worker"] for one in handed}) < 2:
            findings.wrong(f"{CONSUMER}: {victim} was not handed to the consumer that came after", [victim])
    _checkpoints(findings, CONSUMER, case)


def _checkpoints(findings: Findings, name: str, case: CaseSeen) -> None:
    """The group stands at the end of each partition."""
    found = case.facts.get("offsets_after")
    findings.note(**{f"{name}_offsets": found})
    if found is None:
        findings.unknown(f"{name}: the committed offsets were not read at the end")
    elif found["committed"] != found["end"]:
        findings.wrong(f"{name}: the group stands at {found['committed']}, the log ends at {found['end']}")
