"""Fills the template. Names and payloads come from strangers: everything is escaped, control characters are shown."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from drills.evidence import samples
from drills.evidence.page import moments, story, words
from drills.evidence.visible import visible

MOST_IDS = 1000  # of one set that are listed one by one; the file has all of them
MOST_ENTRIES = 1500  # of the timeline
_ID = re.compile(r"(.*?)(\d{1,15})")

Sets = Mapping[str, Mapping[str, Sequence[str]]]
"""Case -> name of the set -> IDs."""


def render(folder: Path, told: Mapping[str, Any], sets: Sets) -> str:
    """The page. `told`: what `drill.json` says; the folder has `timeline.jsonl` and perhaps `metrics.csv`."""
    entries = list(_entries(folder / "timeline.jsonl"))
    namespace = f"drill-{told['run']}-"
    return template().render(
        told=told,
        sets=sets,
        headline=words.headline(told),
        alarms=words.alarms(told),
        overview=story.run_overview(told),
        stories=story.case_stories(told, entries, samples.read(folder / "metrics.csv"), namespace),
        entries=entries,
        origin=moments.seconds_of(told["began"]),
        most_entries=MOST_ENTRIES,
        most_ids=MOST_IDS,
    )


@cache
def template() -> Template:
    """The one template, compiled once."""
    environment = Environment(
        loader=PackageLoader("drills.evidence.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    environment.filters |= {"pretty": pretty, "ranges": ranges, "seconds": seconds}
    environment.globals |= {"W": words.LABELS, "SETS": words.SETS, "VERDICTS": words.VERDICTS}
    environment.globals["MUST_BE_EMPTY"] = words.MUST_BE_EMPTY
    return environment.get_template("report.html")


def pretty(value: Any) -> str:
    """JSON for people to read: lists of IDs with their runs drawn together."""
    return json.dumps(_drawn_together(value), indent=1, ensure_ascii=False)


def _drawn_together(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _drawn_together(one) for name, one in value.items()}
    if isinstance(value, list):
        return ranges(value) if all(isinstance(one, str) for one in value) else [_drawn_together(one) for one in value]
    return value


def seconds(value: float | None) -> str:
    """`12.3 s`."""
    return "" if value is None else f"{value:.1f} s"


def ranges(events: Sequence[str]) -> list[str]:
    """IDs with runs of numbers drawn together: E001, E002, E003, U1 give `E001 … E003`, `U1`."""
    found: list[list[str]] = []
    for event in events:
        if found and _follows(found[-1][-1], event):
            found[-1].append(event)
        else:
            found.append([event])
    return [text for run in found for text in ([f"{run[0]} … {run[-1]}"] if len(run) > 2 else run)]


def _follows(one: str, other: str) -> bool:
    first, second = _ID.fullmatch(one), _ID.fullmatch(other)
    if first is None or second is None:
        return False
    return (first[1], int(first[2]) + 1, len(first[2])) == (second[1], int(second[2]), len(second[2]))


def _entries(path: Path) -> Iterator[Mapping[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for line in itertools.islice(lines, MOST_ENTRIES):
            yield json.loads(line)
