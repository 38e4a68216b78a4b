"""What must be where: the fixture's partitions and orders, worked out anew and not by the producer's own code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from drills.criteria.findings import Findings
from drills.model.seen import CaseSeen

WIDTH = len("account-0000")


def account(event_id: str) -> str:
    """account-0003 of account-0003-031."""
    return event_id[:WIDTH]


def partition(event_id: str, count: int) -> int:
    """The number at the end of the account, modulo the number of partitions."""
    return int(event_id[WIDTH - 4 : WIDTH]) % count


def sequence(event_id: str) -> int:
    """31 of account-0003-031."""
    return int(event_id[WIDTH + 1 :])


def overtakers(order: Iterable[str]) -> list[str]:
    """The events that were applied before an older one of their account, in the order of the accounts."""
    last: dict[str, list[str]] = {}
    found = set()
    for event in order:
        before = last.setdefault(account(event), [])
        found |= {earlier for earlier in before if sequence(earlier) > sequence(event)}
        before.append(event)
    return sorted(found)


def records(findings: Findings, case: CaseSeen, wanted: Mapping[str, int]) -> None:
    """Each delivery report names the account as key, and the partition that is wanted (event -> partitions then)."""
    told = case.facts.get("delivery_records")
    if told is None:
        findings.unknown("the delivery reports were not read")
        return
    by_id = {one["event_id"]: one for one in told}
    unknown = sorted(set(wanted) - set(by_id))
    if unknown:
        findings.unknown(f"no delivery report of {_short(unknown)}")
    keys = [event for event, one in by_id.items() if event in wanted and one["key"] != account(event)]
    if keys:
        findings.wrong(f"another key than the account: {_short(keys)}", keys)
    misplaced = [
        event for event, one in by_id.items() if event in wanted and one["partition"] != partition(event, wanted[event])
    ]
    if misplaced:
        findings.wrong(f"on another partition than the fixture's: {_short(misplaced)}", misplaced)


def logged(findings: Findings, case: CaseSeen) -> None:
    """The log has at each reported place the event that was reported there."""
    told, log = case.facts.get("delivery_records"), case.facts.get("log")
    if told is None or log is None:
        findings.unknown("the delivery reports or the log were not read")
        return
    there = {(one["partition"], one["offset"]): one for one in log}
    silent = [one["event_id"] for one in told if one["offset"] is None]
    if silent:
        findings.unknown(f"the report named no offset for {_short(silent)}")
    others = [
        one["event_id"]
        for one in told
        if one["offset"] is not None and not _same(one, there.get((one["partition"], one["offset"])))
    ]
    if others:
        findings.wrong(f"not in the log where the report says: {_short(others)}", others)
    findings.note(log_records=len(log), delivery_records=len(told))


def lags(findings: Findings, case: CaseSeen, name: str, wanted: Mapping[str, int]) -> None:
    """Exporter, admin API and log say this lag of each partition; whoever says nothing leaves it unknown."""
    found = case.facts.get(name)
    findings.note(**{name: found})
    if found is None:
        findings.unknown(f"{name}: the lag was not read")
        return
    silent = [f"{who} ({number})" for who, said in found.items() for number in wanted if said.get(number) is None]
    if silent:
        findings.unknown(f"{name}: no lag from {', '.join(silent)}")
    wrong = [
        f"{who} says {said[number]:g} of partition {number}, not {lag}"
        for who, said in found.items()
        for number, lag in wanted.items()
        if said.get(number) is not None and said[number] != lag
    ]
    if wrong:
        findings.wrong(f"{name}: {'; '.join(wrong)}")


def in_sync(case: CaseSeen, name: str) -> int | None:
    """How many replicas of the one partition were in sync; None where it was not told."""
    found: Sequence[Any] | None = case.facts.get(name)
    return None if not found else len(found[0]["in_sync"])


def _same(report: Mapping[str, Any], record: Mapping[str, Any] | None) -> bool:
    return record is not None and all(report[name] == record[name] for name in ("event_id", "key"))


def _short(ids: Sequence[str]) -> str:
    """The first of them, and how many more."""
    shown = ", ".join(sorted(ids)[:3])
    return shown if len(ids) <= 3 else f"{shown} and {len(ids) - 3} more"
