"""Wrong applications and environments that the drills must object to. `make mutants` runs them all on a lab.

A mutant is a named switch of the workers (drills/actors) or of the scene (drills/scenes/wrong.py). For each criterion
that it concerns the drill has to say FAIL with these IDs, or UNKNOWN; a mutant that passes is a defect of the drill.

    python -m tests.mutants [NAME ...]          runs them, notes what came of each, writes docs/mutants.md
    python -m tests.mutants --write             writes docs/mutants.md from what is noted

`MQ_TEST_LAB` names a lab that is up; otherwise one is made and taken down. Two mutants of incident need one with
`--profile secure`.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from drills.actors import consuming, publishing
from drills.actors import rabbitmq_consumer as consumer
from drills.actors.worker import start
from drills.catalog import crash_window, incident, partition_lag
from drills.engine.drill import Drill
from drills.engine.driver import Driver, Options
from drills.engine.screen import Screen
from drills.lab import Lab, report_to, take_down
from drills.lab.record import Settings
from drills.model.verdict import Judgement, Verdict
from drills.scenes import wrong
from drills.scenes.wrong import Wrong
from drills.targets import file as target_file
from tests.incident_mutants import INCIDENT
from tests.lag_mutants import PARTITION_LAG
from tests.mutant import Expected, Mutant

ROOT = Path(__file__).parents[1]
NOTED, PAGE = ROOT / "tests" / "mutants.json", ROOT / "docs" / "mutants.md"
FAIL, UNKNOWN = Verdict.FAIL, Verdict.UNKNOWN
NOT_JUDGED = Judgement(Verdict.NOT_RUN, "the run ended before it was judged")
SEED = 20  # what is drawn from it does not matter; that it is the same in each run does
QUICK = crash_window.parameters(True)
HEAD = """\
# Mutants: wrong applications that the drills object to

A drill that nobody saw fail proves nothing. Each row is a named switch that makes the application or the environment
wrong on purpose; each cell is what the drill said of that criterion on a real cluster, and the IDs that it named. A
mutant that passed would be a defect of the drill.

Written by `make mutants`; do not edit.

"""


CRASH_WINDOW = {
    "skips_one": Mutant(
        "a consumer acks one event and does nothing with it",
        Wrong(consumer=consuming.SKIPS_ONE, victim="E003"),
        {1: Expected(FAIL, ("E003",)), 7: Expected(FAIL, ("E003",))},
    ),
    "no_inbox": Mutant(
        "a handler without the unique key",
        Wrong(consumer=consuming.NO_INBOX),
        {1: Expected(FAIL, tuple(QUICK["ids"]["baseline"])), 2: Expected(FAIL, tuple(QUICK["ids"]["after-commit"]))},
    ),
    "ack_before_commit": Mutant(
        "the ack is sent before the commit",
        Wrong(consumer=consumer.ACK_BEFORE_COMMIT),
        {2: Expected(FAIL, ("E050",)), 3: Expected(FAIL, ("E025",)), 5: Expected(FAIL, ("E001",))},
    ),
    "redelivery_hidden": Mutant(
        "the `redelivered` flag is not looked at",
        Wrong(consumer=consumer.REDELIVERY_HIDDEN),
        {2: Expected(FAIL, ("E050",)), 3: Expected(FAIL, ("E025",))},
    ),
    "commit_before_hook": Mutant(
        "the commit comes where the handler should still be able to roll back",
        Wrong(consumer=consuming.COMMIT_BEFORE_HOOK),
        {3: Expected(FAIL, ("E025",))},
    ),
    "hash_unchecked": Mutant(
        "the payload's hash is not compared",
        Wrong(consumer=consuming.HASH_UNCHECKED),
        {4: Expected(FAIL, ("E005",))},
    ),
    "controls_are_right": Mutant(
        "the negative controls run the right design, and so show nothing",
        Wrong(environment=wrong.CONTROLS_ARE_RIGHT),
        {4: Expected(FAIL, ("E005",)), 5: Expected(FAIL, ("E001",))},
    ),
    "confirmed_before_confirm": Mutant(
        "a publisher marks what it sent as confirmed before the confirm",
        Wrong(publisher=publishing.CONFIRMED_BEFORE_CONFIRM),
        {6: Expected(FAIL, ("U001",)), 8: Expected(FAIL, tuple(QUICK["new_ids"]))},
    ),
    "retry_skips_one": Mutant(
        "a publisher that starts again skips one ID of those that it has to send again",
        Wrong(publisher=publishing.RETRY_SKIPS_ONE),
        {6: Expected(FAIL, ("U001",)), 8: Expected(FAIL, ("E110",))},
    ),
    "kill_misses": Mutant(
        "the worker that is to be killed is let go",
        Wrong(environment=wrong.KILL_MISSES),
        {2: Expected(UNKNOWN), 3: Expected(UNKNOWN)},
    ),
    "no_sentinel": Mutant(
        "the drain's sentinel is never sent", Wrong(environment=wrong.NO_SENTINEL), {1: Expected(UNKNOWN)}
    ),
    "stops_a_follower": Mutant(
        "a follower's node is stopped in place of the leader's",
        Wrong(environment=wrong.STOPS_A_FOLLOWER),
        {7: Expected(UNKNOWN)},
    ),
    "stops_one": Mutant(
        "one replica is stopped where the majority is to be lost",
        Wrong(environment=wrong.STOPS_ONE),
        {8: Expected(UNKNOWN)},
    ),
}  # fmt: skip


DRILLS: dict[str, tuple[Callable[[Wrong], Drill], Mapping[str, Mutant]]] = {
    "crash-window": (crash_window.drill, CRASH_WINDOW),
    "incident": (incident.drill, INCIDENT),
    "partition-lag": (partition_lag.drill, PARTITION_LAG),
}
"""Drill -> how it is made with something wrong, and its mutants. No two mutants have one name."""


def run(mutant: Mutant, lab: str, only: Iterable[int] | None = None) -> dict[int, Judgement]:
    """Plays the mutant quickly, for the criteria that it concerns (or `only` these); what each of them said."""
    numbers = tuple(mutant.expected if only is None else only)
    [make] = [make for make, table in DRILLS.values() if mutant in table.values()]
    options = Options(seed=SEED, quick=True, only=numbers)
    screen = Screen(io.StringIO() if only is not None else sys.stderr)
    driver = Driver(make(mutant.wrong), target_file.find(lab), options, screen, start)
    driver.play()
    found = driver.ledger.judgements()
    return {number: found.get(number, NOT_JUDGED) for number in numbers}


def mutants() -> dict[str, Mutant]:
    """Those of all drills, by name."""
    return {name: mutant for _, table in DRILLS.values() for name, mutant in table.items()}


def main(arguments: list[str]) -> int:
    """Runs those that are named (of a drill: by its name), or all; the exit code is 1 when one was not caught."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of a drill ({', '.join(DRILLS)}) or of a mutant")
    parser.add_argument("--write", action="store_true", help="only write docs/mutants.md from what is noted")
    told = parser.parse_args(arguments)
    if unknown := set(told.names) - set(DRILLS) - set(mutants()):
        parser.error(f"no mutant is called {', '.join(sorted(unknown))}; there are {', '.join(mutants())}")
    if told.write:
        PAGE.write_text(page(noted()))
        return 0
    chosen = [one for name in told.names or DRILLS for one in (DRILLS[name][1] if name in DRILLS else [name])]
    name = os.environ.get("MQ_TEST_LAB")
    secure = Settings(profile="secure") if set(chosen) & set(INCIDENT) else None
    lab = Lab.up(name or "mutants", _systems(chosen), settings=None if name else secure, report=report_to(sys.stderr))
    try:
        lacks = [_play(one, lab.name) for one in chosen]
    finally:
        if name is None:
            take_down(lab.name)
    PAGE.write_text(page(noted()))
    sys.stdout.write(page(noted()) + "".join(f"NOT CAUGHT: {lack}\n" for lack in filter(None, lacks)))
    return 1 if any(lacks) else 0


def _systems(names: Iterable[str]) -> tuple[str, ...]:
    """What the drills of these mutants need; Prometheus for the alerts."""
    needed = {"kafka", "prometheus"} if set(names) & {*PARTITION_LAG, *INCIDENT} else set()
    return tuple(sorted(needed | ({"rabbitmq"} if set(names) & {*CRASH_WINDOW, *INCIDENT} else set())))


def _play(name: str, lab: str) -> str | None:
    mutant = mutants()[name]
    began = time.monotonic()
    found = run(mutant, lab)
    told = {str(number): [one.verdict.value, list(one.ids), one.because] for number, one in found.items()}
    everything = {**noted(), name: {"seconds": round(time.monotonic() - began), "criteria": told}}
    NOTED.write_text(json.dumps(everything, indent=1, sort_keys=True) + "\n")
    lacks = [mutant.expected[number].lack(one) for number, one in found.items()]
    return f"{name}: {'; '.join(filter(None, lacks))}" if any(lacks) else None


def noted() -> dict[str, Any]:
    """Mutant -> what the last run of it came to."""
    found: dict[str, Any] = json.loads(NOTED.read_text()) if NOTED.exists() else {}
    return found


def page(results: Mapping[str, Any]) -> str:
    """docs/mutants.md."""
    return HEAD + "\n".join(_section(drill, table, results) for drill, (_, table) in DRILLS.items())


def _section(drill: str, table: Mapping[str, Mutant], results: Mapping[str, Any]) -> str:
    numbers = range(1, 9)
    lines = [f"## {drill}\n", "| Mutant | " + " | ".join(map(str, numbers)) + " |", "| --- " * 9 + "|"]
    for name, mutant in table.items():
        told = results.get(name, {}).get("criteria", {})
        cells = [_cell(told.get(str(number)), number in mutant.expected) for number in numbers]
        lines.append(f"| `{name}`: {mutant.about} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n\n" + _why(table, results)


def _cell(told: list[Any] | None, is_expected: bool) -> str:
    if told is None:
        return "not run" if is_expected else ""
    verdict, ids, _ = told
    shown = ", ".join(ids[:2]) + (f" and {len(ids) - 2} more" if len(ids) > 2 else "")
    return f"{verdict} {shown}".strip()


def _why(table: Mapping[str, Mutant], results: Mapping[str, Any]) -> str:
    """What each said, in its own words."""
    said = [
        f"- `{name}`, criterion {number}: {verdict}: {because}"
        for name in table
        for number, (verdict, _, because) in sorted(results.get(name, {}).get("criteria", {}).items())
    ]
    return "\n".join(["In their own words:", "", *said]) + "\n" if said else "None of them was run yet.\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
