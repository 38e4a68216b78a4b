"""Putting a judgement together: what is wrong, what is not known, and the evidence it was judged on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from drills.model.seen import CaseSeen, Seen
from drills.model.verdict import Judgement, Verdict


@dataclass
class Findings:
    """Of one criterion. What is wrong beats what is unknown: it stays wrong whatever the rest would have been.

    `scaled`: whether a quick run plays fewer events for it.
    """

    seen: Seen
    scaled: bool = True
    evidence: dict[str, Any] = field(default_factory=dict)
    wrongs: list[str] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    unknowns: list[str] = field(default_factory=list)
    blocks: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def case(self, name: str) -> CaseSeen | None:
        """A case that was played to its end; else None, and the criterion can't pass."""
        found = self.seen.cases.get(name)
        if found is None:
            self.missing.append(name)
        elif not found.finished:
            self.unknowns.append(f"case {name} did not run to its end")
        return found if found is not None and found.finished else None

    def wrong(self, text: str, ids: Iterable[str] = ()) -> None:
        """Something is not as the criterion asks; the events that it concerns."""
        self.wrongs.append(text)
        self.ids |= set(ids)

    def unknown(self, text: str) -> None:
        """Something could not be known."""
        self.unknowns.append(text)

    def blocked(self, text: str) -> None:
        """The target does not offer what the criterion needs."""
        self.blocks.append(text)

    def note(self, **evidence: Any) -> None:
        """Evidence, kept with the judgement."""
        self.evidence.update(evidence)

    def confirmed_before(self, case: CaseSeen, ids: Iterable[str]) -> None:
        """All were confirmed before the case went on; one that is not known to be may be there, and is no failure."""
        outcomes = case.facts.get("outcomes_before", {})
        told = {event: set(outcomes.get(event, ["unknown"])) for event in ids}
        if returned := [event for event, seen in told.items() if "returned" in seen]:
            self.wrong(f"returned where they should be confirmed: {_list(returned)}", returned)
        unknown = [event for event, seen in told.items() if not seen & {"confirmed", "returned"}]
        if unknown:
            self.unknown(f"not known to be confirmed before: {_list(unknown)}")

    def bite(self, case: CaseSeen, kinds: Iterable[str], times: int = 1) -> bool:
        """Whether the faults of these kinds are proven to have taken effect, so many of them."""
        proofs = [change.bite for change in case.changes if change.kind in set(kinds) and change.bite is not None]
        self.evidence.setdefault("bites", []).extend(proofs)
        if len(proofs) < times:
            self.unknown(f"{len(proofs)} of {times} faults are proven to have taken effect")
        return len(proofs) >= times

    def held(self, case: CaseSeen, hook: str, event_id: str) -> bool:
        """Whether a worker stood at the hook with the event and did not go on from there."""
        if any((one.hook, one.event_id, one.released) == (hook, event_id, False) for one in case.hooks):
            return True
        self.unknown(f"no worker was held at {hook} with {event_id} until it was killed")
        return False

    def clean(self, name: str, case: CaseSeen) -> None:
        """The case reconciles: nothing lost, unexpected, doubled or unresolved, and the drain is proven."""
        found = case.reconciliation
        if found is None:
            self.unknown(f"{name}: nothing was reconciled")
            return
        self.drained(name, case)
        for kind, ids in found.trouble().items():
            known = found.undrained is None or kind in ("unexpected", "duplicate_effect")
            where = f" ({_located(found.located)})" if kind == "lost" else ""
            if known:
                self.wrong(f"{name}: {kind.replace('_', ' ')} {', '.join(ids)}{where}", ids)

    def drained(self, name: str, case: CaseSeen) -> None:
        """The drain is proven; else the criterion can't pass."""
        if case.reconciliation is None or case.reconciliation.undrained is not None:
            lack = "was not tried" if case.reconciliation is None else case.reconciliation.undrained
            self.unknown(f"{name}: the drain is not proven: {lack}")

    def each_once(self, name: str, case: CaseSeen, expected: Iterable[str], counter: int | None = None) -> None:
        """Inbox and effects are these events, each once, and the counter is their number (or `counter`)."""
        ids = set(expected)
        found = case.facts.get("checkpoint")
        if found is None:
            self.unknown(f"{name}: the business database was not read")
            return
        drained = case.reconciliation is not None and case.reconciliation.undrained is None
        if drained and (absent := ids - set(found["effects"])):
            self.wrong(f"{name}: no effect of {_list(absent)}", absent)
        if strangers := set(found["effects"]) - ids:
            self.wrong(f"{name}: an effect of {_list(strangers)}, which were not sent", strangers)
        if doubled := {event for event, times in found["effects"].items() if times > 1}:
            self.wrong(f"{name}: more than one effect of {_list(doubled)}", doubled)
        if unmarked := set(found["effects"]) - set(found["inbox"]):
            self.wrong(f"{name}: an effect without an inbox row: {_list(unmarked)}", unmarked)
        self._counter(name, found["counter"], len(ids) if counter is None else counter, drained)

    def _counter(self, name: str, counter: int | None, expected: int, drained: bool) -> None:
        self.evidence.setdefault("counters", {})[name] = counter
        if counter is None:
            self.unknown(f"{name}: the counter was not read")
        elif counter != expected and (drained or counter > expected):
            self.wrong(f"{name}: the counter is {counter}, not {expected}")

    def judgement(self, passed: str) -> Judgement:
        """The verdict; `passed` says what was proven when nothing stands against it."""
        ids = tuple(sorted(self.ids))
        if self.wrongs:
            return Judgement(Verdict.FAIL, "; ".join(self.wrongs), ids, self.evidence)
        if self.unknowns:
            return Judgement(Verdict.UNKNOWN, "; ".join(self.unknowns), ids, self.evidence)
        if self.blocks:
            return Judgement(Verdict.BLOCKED, "; ".join(self.blocks), (), self.evidence)
        if self.missing:
            return Judgement(Verdict.NOT_RUN, f"not played: {', '.join(self.missing)}", (), self.evidence)
        return Judgement(Verdict.PASS, passed + self._scale(), (), self.evidence)

    def _scale(self) -> str:
        events, full = self.seen.parameters["events"], self.seen.parameters["full_events"]
        return (
            ""
            if events == full or not self.scaled
            else f" (quick: {events} events where the criterion has {full}: not the full proof)"
        )


def _located(located: Mapping[str, str]) -> str:
    return "; ".join(f"{event}: {place}" for event, place in sorted(located.items()))


def _list(ids: Iterable[str]) -> str:
    return ", ".join(sorted(ids))
