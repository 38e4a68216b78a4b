"""Where runs are kept: one folder each, found again by the run's name."""

from __future__ import annotations

import datetime
import json
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import sqlalchemy as sa

from drills.engine.errors import WrongUse
from drills.lab.record import write_whole
from drills.ledger import Ledger
from drills.ledger.database import sqlite_url

NOTE = "run.json"
LEDGER_VARIABLE, BUSINESS_VARIABLE = "MQOPS_LEDGER", "MQOPS_BUSINESS"


@dataclass(frozen=True, slots=True)
class Note:
    """What a later command needs to know of a run before it can open its ledger. It has no password in it."""

    run: str
    drill: str
    target: str  # what `--target` finds it by
    ledger_url: str
    business_url: str


def root() -> Path:
    """The folder that holds one folder a run: `$MQOPS_RUNS`, else `runs` here."""
    return Path(os.environ.get("MQOPS_RUNS") or "runs").absolute()


def new_name(drill: str, seed: int) -> str:
    """DRILL-YYYYMMDD-HHMMSS-SEED, in UTC; it sorts by time."""
    return f"{drill}-{datetime.datetime.now(datetime.UTC):%Y%m%d-%H%M%S}-{seed:08x}"


def make(run: str, drill: str, target: str, ledger_url: str | None, business_url: str | None) -> tuple[Path, Note]:
    """A new folder and what is noted in it. Raises OSError."""
    folder = root() / run
    folder.mkdir(parents=True)
    urls = [
        ledger_url or os.environ.get(LEDGER_VARIABLE) or sqlite_url(folder / "ledger.db"),
        business_url or os.environ.get(BUSINESS_VARIABLE) or sqlite_url(folder / "business.db"),
    ]
    note = Note(run, drill, target, *(sa.engine.make_url(url).render_as_string(hide_password=False) for url in urls))
    shown = {**asdict(note), "ledger_url": _without_password(urls[0]), "business_url": _without_password(urls[1])}
    write_whole(folder / NOTE, json.dumps(shown, indent=1))
    return folder, note


def open_run(run: str, ledger_url: str | None = None) -> tuple[Path, Note, Ledger]:
    """A run that there is: its folder, its note, its ledger (a name, or the path of the folder).

    `ledger_url`, or `$MQOPS_LEDGER`, where the ledger is not an SQLite file in the folder and needs a password.
    """
    folder = next((path for path in (root() / run, Path(run).absolute()) if (path / NOTE).is_file()), None)
    if folder is None:
        raise WrongUse(f"there is no run {run!r} in {root()}; it has {', '.join(names()) or 'none'} (see $MQOPS_RUNS)")
    try:
        note = Note(**json.loads((folder / NOTE).read_text()))
    except (ValueError, TypeError) as error:
        raise WrongUse(f"{folder / NOTE} can't be read: {error}") from error
    note = replace(note, business_url=os.environ.get(BUSINESS_VARIABLE) or note.business_url)
    url = ledger_url or os.environ.get(LEDGER_VARIABLE) or note.ledger_url
    if (folder / "ledger.db").exists():
        url = sqlite_url(folder / "ledger.db")  # the folder may have been moved
    _must_be_there(note.run, url)
    return folder, note, Ledger(url, note.run)


def namespace(run: str) -> str:
    """What the names of all that a run makes begin with."""
    return f"drill-{run}"


def _must_be_there(run: str, url: str) -> None:
    """A ledger that is lost is told as that: opening it would make an empty one."""
    parsed = sa.engine.make_url(url)
    if parsed.get_backend_name() == "sqlite" and not Path(parsed.database or "").is_file():
        raise WrongUse(
            f"the ledger of {run} is not at {parsed.database}, and nothing else knows what the run changed. "
            f"Bring the file back from a copy. Without one, by hand: start nodes that are down, remove what is named "
            f"{namespace(run)}-*, and look for limits and accounts that are not as they should be (mq-drill plan)"
        )


def names() -> list[str]:
    """The runs there are, oldest first by time within a drill."""
    here = root()
    return sorted(one.name for one in here.iterdir() if (one / NOTE).is_file()) if here.is_dir() else []


def _without_password(url: str) -> str:
    parsed = sa.engine.make_url(url)
    return str(parsed.set(password=None).render_as_string()) if parsed.password else url
