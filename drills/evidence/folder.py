"""The folder of a run: every file of it is written from the ledger, beside what the run itself put there."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from drills import checker
from drills.engine import seeing
from drills.engine.drill import Drill
from drills.evidence import ids, page
from drills.evidence.clock import utc
from drills.evidence.junit import junit
from drills.evidence.record import record
from drills.evidence.secrets import Redaction
from drills.ledger import Ledger, tables

DATABASES = (".db", ".db-wal", ".db-shm")  # the run goes on writing to them
SCRUBBED = ("logs", "topology")
MOST_TEXT = 64 * 1024 * 1024  # bytes of one log that are read to look for secrets


def write(folder: Path, ledger: Ledger, drill: Drill | None = None, secrets: Iterable[str] = ()) -> dict[str, Any]:
    """Writes all of it and gives what `drill.json` says. Works on a run that is not finished; can be repeated.

    `secrets`: passwords that were used; what is known of none of them is hidden by what it looks like. Files under
    `logs/` and `topology/` are left as they are, but for secrets. Raises OSError, LookupError (no such run).
    """
    folder.mkdir(parents=True, exist_ok=True)
    redaction = Redaction(secrets)
    told: dict[str, Any] = redaction.json(record(ledger, drill))
    _write_timeline(folder, ledger, redaction)
    sets = {case: _sets(ledger, case) for case in (*(one["name"] for one in told["cases"]), *checker.CASES)}
    _write_ids(folder, ledger, told, sets)
    _scrub(folder, redaction)
    put(folder / "junit.xml", junit(told))
    put(folder / "report.html", page.render(folder, told, sets).encode())
    told["files"] = {path.relative_to(folder).as_posix(): _about(path) for path in _files(folder)}
    put(folder / "drill.json", json.dumps(told, indent=1, ensure_ascii=False).encode() + b"\n")
    return told


def put(path: Path, content: bytes) -> None:
    """Writes a file whole: a reader, and a kill half-way, see the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(f".{path.name}.half")
    half.write_bytes(content)  # not forced to the disk: the ledger is, and all of this can be written again from it
    half.replace(path)


def _write_timeline(folder: Path, ledger: Ledger, redaction: Redaction) -> None:
    lines = []
    for row in ledger.rows(tables.timeline):
        kept = {name: row[name] for name in ("wall", "monotonic", "kind", "case", "text", "data")}
        lines.append(json.dumps({"at": utc(row["wall"]), **redaction.json(kept)}, ensure_ascii=False))
    put(folder / "timeline.jsonl", "".join(f"{line}\n" for line in lines).encode())


def _sets(ledger: Ledger, case: str) -> dict[str, tuple[str, ...]]:
    facts = ledger.facts().get(case, {})
    account = seeing.account(ledger, case, {"effects": {}, **facts})
    return {} if account is None else ids.sets(account, effects_known="effects" in facts)


def _write_ids(folder: Path, ledger: Ledger, told: Mapping[str, Any], sets: page.Sets) -> None:
    """`ids/CASE/SET.txt`; of negative controls and of the checker apart, so that nobody adds them up."""
    facts = ledger.facts()
    places = {one["name"]: "ids/negative-controls" if one["negative_control"] else "ids" for one in told["cases"]}
    for case, place in {**places, **dict.fromkeys(checker.CASES, "ids/planted-by-the-checker")}.items():
        result = seeing.reconciliation(ledger, case, facts.get(case, {}))
        if sets[case].get("attempted") or result is not None:
            for name, events in sets[case].items():
                text = ids.lines(name, events, result.located if result else {})
                put(folder / place / _file_name(case) / f"{name}.txt", text.encode())


def _file_name(case: str) -> str:
    """A case's name as the name of a folder that stays inside ours."""
    return re.sub(r"[^\w.-]", "_", case).lstrip(".") or "_"


def _scrub(folder: Path, redaction: Redaction) -> None:
    for path in (one for name in SCRUBBED for one in (folder / name).rglob("*") if one.is_file()):
        if path.stat().st_size <= MOST_TEXT:
            text = path.read_bytes().decode(errors="surrogateescape")
            clean = redaction.text(text)
            if clean != text:
                put(path, clean.encode(errors="surrogateescape"))


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != "drill.json" and not path.name.endswith(DATABASES):
            yield path


def _about(path: Path) -> dict[str, Any]:
    return {"sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "bytes": path.stat().st_size}
