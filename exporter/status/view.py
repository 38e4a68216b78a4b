"""Everything the status page shows, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from exporter import VERSION
from exporter.poll import Poller
from exporter.status import tables
from exporter.status.attention import Attention, Level, attention
from exporter.status.facts import Facts, gather
from exporter.status.units import counted


@dataclass(frozen=True, slots=True)
class View:
    """The page. `mood` is alarm, warning, unknown or calm; `complete` says that nothing is missing from the tables."""

    version: str
    at: str
    refresh: int  # seconds
    mood: str
    headline: str
    summary: str
    complete: bool
    attention: list[Attention]
    clusters: list[tables.ClusterCard]
    longest: list[tables.Backlog]
    largest: list[tables.Backlog]
    unread: int  # rows with something unread
    dead_letters: list[tables.DeadLetters]
    dead_letter_queues: int
    transactions: list[tables.Transaction]
    disks: list[tables.DiskRow]
    all_disks: int
    systems: frozenset[str]


def view(poller: Poller, now: float) -> View:
    """The page at this moment; `now` is unix seconds."""
    return of_facts(gather(poller), now)


def of_facts(clusters: list[Facts], now: float) -> View:
    """The page for these clusters."""
    items = attention(clusters, now)
    moods = {item.cluster: item.level.name.lower() for item in reversed(items)}
    rows = tables.backlogs(clusters)
    snapshots = [facts.snapshot for facts in clusters if facts.snapshot is not None and facts.fresh]
    return View(
        version=VERSION,
        at=datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%d %H:%M:%S UTC"),
        refresh=max(5, round(min((facts.interval for facts in clusters), default=15))),
        mood=items[0].level.name.lower() if items else "calm",
        headline=_headline(items),
        summary=_summary(clusters),
        complete=all(facts.readable for facts in clusters),
        attention=items,
        clusters=tables.cards(clusters, moods, now),
        longest=tables.longest(rows),
        largest=tables.largest(rows),
        unread=len(rows),
        dead_letters=tables.dead_letters(clusters),
        dead_letter_queues=sum(len(snapshot.dead_letter_queues) for snapshot in snapshots),
        transactions=tables.transactions(clusters),
        disks=tables.disks(clusters),
        all_disks=sum(len(snapshot.disks) for snapshot in snapshots),
        systems=frozenset(facts.system for facts in clusters),
    )


def _headline(items: list[Attention]) -> str:
    """`2 alarms, 1 warning, 3 unknown`; calm only when there is nothing at all."""
    count = {level: sum(item.level is level for item in items) for level in Level}
    parts = [
        counted(count[Level.ALARM], "alarm") if count[Level.ALARM] else "",
        counted(count[Level.WARNING], "warning") if count[Level.WARNING] else "",
        f"{count[Level.UNKNOWN]:,} unknown" if count[Level.UNKNOWN] else "",
    ]
    return ", ".join(filter(None, parts)) or "Nothing needs attention"


def _summary(clusters: list[Facts]) -> str:
    fresh = [facts for facts in clusters if facts.fresh]
    told = f"{counted(len(fresh), 'cluster')} of {len(clusters):,} with fresh data"
    if len(fresh) == len(clusters):
        told = "Fresh data from " + ("every cluster" if len(clusters) > 1 else "the cluster")
    failing = sum(not run.success for facts in fresh for run in (facts.snapshot.runs if facts.snapshot else ()))
    return (
        f"{told}; {counted(failing, 'collector')} failing."
        if failing
        else f"{told}; every collector read all it should."
        if fresh
        else f"{told}."
    )
