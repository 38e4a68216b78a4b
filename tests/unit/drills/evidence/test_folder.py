"""What is in the folder of a run: whole, half-way and failed."""

from __future__ import annotations

import hashlib
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from drills import checker
from drills.evidence import write
from drills.ledger import Ledger
from drills.ledger.database import sqlite_url
from drills.model.verdict import Judgement, Verdict
from tests.mutations import fails_under
from tests.stored_run import DRILL, EVENTS, EVIL, PASSWORD, RUN, Clock, StoredRun

SCHEMA = json.loads((files("drills.evidence") / "drill.schema.json").read_text())


def test_the_published_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$id"] == SCHEMA["properties"]["schema"]["const"]


@pytest.mark.parametrize("run", ["whole", "half", "failed"])
def test_drill_json_is_what_the_schema_says(run: str, request: pytest.FixtureRequest) -> None:
    folder = request.getfixturevalue(run).folder
    told = json.loads((folder / "drill.json").read_text())
    assert [] == [error.message for error in jsonschema.Draft202012Validator(SCHEMA).iter_errors(told)]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda told: told.pop("seed"),
        lambda told: told.update(extra=1),
        lambda told: told.update(verdict="MAYBE"),
        lambda told: told["criteria"][0].pop("because"),
        lambda told: told["cases"][0]["reconciliation"]["classes"].pop("lost"),
        lambda told: told["exit"].update(code=7),
        lambda told: told.update(began="yesterday"),
    ],
)
def test_the_schema_refuses_what_is_wrong(spoil: Any, whole: Any) -> None:
    told = json.loads((whole.folder / "drill.json").read_text())
    spoil(told)
    assert not jsonschema.Draft202012Validator(SCHEMA).is_valid(told)


def test_a_run_that_passed(whole: Any) -> None:
    told = whole.told
    assert ("PASS", {"code": 0, "by_criteria": 0, "rollback_failed": False}) == (told["verdict"], told["exit"])
    assert [(1, "PASS"), (2, "PASS"), (4, "PASS")] == [(one["number"], one["verdict"]) for one in told["criteria"]]
    assert (42, "ab" * 32, {"unacked_most": 1}) == (told["seed"], told["parameters_sha256"], told["budget"])
    times = {"detection_seconds": None, "service_seconds": 1.4, "drained_seconds": 7.25}
    assert [None, times, None] == [case["recovery"] for case in told["cases"]]
    bites = [(one["kind"], one["bite"], one["standing"]) for one in told["changes"]]
    assert [("vhost", None, False), ("kill_process", {"pid": 77, "gone": True}, False)] == bites
    phases = [(one["phase"], one["state"], one["error"]) for one in told["cases"][0]["phases"]]
    assert [
        (name, "ended", None) for name in ("fixture", "steady", "inject", "observe", "recover", "drain", "reconcile")
    ] == phases
    assert all(one["seconds"] >= 3 for one in told["cases"][0]["phases"])
    assert "2026-12-01T02:15:00.050Z" == told["began"]
    assert {} == told["checker"]["missed"]


def test_a_control_is_kept_apart(whole: Any) -> None:
    criterion = whole.told["criteria"][2]
    assert {"design": "no inbox", "counter": 101} == criterion["negative_control"]
    assert {"right_design": 100} == criterion["evidence"]
    assert [False, False, True] == [case["negative_control"] for case in whole.told["cases"]]
    assert "E005\n" == (whole.folder / "ids/negative-controls/no-inbox/duplicate_effect.txt").read_text()
    assert not (whole.folder / "ids/no-inbox").exists()


def test_every_set_of_ids_is_a_file(whole: Any) -> None:
    ids = whole.folder / "ids"
    assert "".join(f"{event}\n" for event in EVENTS) == (ids / "baseline/effects.txt").read_text()
    assert "U001\n" == (ids / "after-commit/recovered.txt").read_text()
    assert "E050\n" == (ids / "after-commit/duplicate_delivery.txt").read_text()
    assert "" == (ids / "after-commit/lost.txt").read_text()
    sizes = whole.told["cases"][1]["sets"]
    assert (101, 100, 1, 0) == tuple(sizes[name] for name in ("attempted", "confirmed", "recovered", "lost"))
    planted = whole.told["checker"]["planted"]
    text = (ids / "planted-by-the-checker" / checker.CASE / "unexpected.txt").read_text()
    assert f"{planted['unexpected']}\n" == text


def test_a_lost_id_is_located_and_a_hostile_one_stays_one_line(failed: Any) -> None:
    assert "E100\tqueue work, unacknowledged\n" == (failed.folder / "ids/baseline/lost.txt").read_text()
    lines = (failed.folder / "ids/baseline/unexpected.txt").read_text().splitlines()
    assert ["X<b><script>alert(1)</script> \"q\" 'a' & \\ \\n\\u202eline"] == lines


def test_a_rollback_that_failed_is_added_and_hides_nothing(failed: Any) -> None:
    assert ("FAIL", {"code": 6, "by_criteria": 1, "rollback_failed": True}) == (
        failed.told["verdict"],
        failed.told["exit"],
    )


def test_what_did_not_run_is_told_of_a_run_whose_driver_was_killed(half: Any) -> None:
    told = half.told
    assert ("running", "NOT RUN", None, None) == (told["state"], told["verdict"], told["exit"]["code"], told["ended"])
    assert {("NOT RUN", "the run ended before it was judged")} == {
        (one["verdict"], one["because"]) for one in told["criteria"]
    }
    assert [("kill_node", True)] == [(one["kind"], one["standing"]) for one in told["changes"]]
    case = told["cases"][1]
    assert (False, None) == (case["finished"], case["reconciliation"])
    assert "begun" == case["phases"][-1]["state"]
    assert not (half.folder / "ids/after-commit/lost.txt").exists()
    assert "E001\nE002\nE003\n" == (half.folder / "ids/after-commit/confirmed.txt").read_text()


def test_what_was_not_asked_for_says_so(tmp_path: Path) -> None:
    run = StoredRun(tmp_path, Clock())
    run.ledger.close()
    ledger = Ledger(sqlite_url(tmp_path / "ledger.db"), "another")
    ledger.begin(
        drill="crash-window", target="dev", seed=1, quick=True, parameters={"only": [1]}, versions={},
        driver_pid=1, driver_started=1,
    )  # fmt: skip
    told = write(tmp_path, ledger, DRILL)
    assert ["the run ended before it was judged", "not asked for (--only)", "not asked for (--only)"] == [
        one["because"] for one in told["criteria"]
    ]
    ledger.close()


def test_a_drill_that_this_version_has_not_is_told_of_all_the_same(failed: Any, tmp_path: Path) -> None:
    ledger = Ledger(sqlite_url(failed.folder / "ledger.db"), RUN)
    told = write(tmp_path, ledger)
    ledger.close()
    assert (None, [None] * 3) == (told["question"], [one["title"] for one in told["criteria"]])
    assert ["FAIL", "UNKNOWN", "BLOCKED"] == [one["verdict"] for one in told["criteria"]]


def test_the_timeline_has_both_clocks(whole: Any) -> None:
    entries = [json.loads(line) for line in (whole.folder / "timeline.jsonl").read_text().splitlines()]
    assert {"at", "wall", "monotonic", "kind", "case", "text", "data"} == entries[0].keys()
    walls = [entry["wall"] for entry in entries]
    assert sorted(walls) == walls
    assert any(EVIL.splitlines()[0] in entry["text"] for entry in entries)


def test_the_hashes_are_those_of_the_files(whole: Any) -> None:
    found = {
        path.relative_to(whole.folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in whole.folder.rglob("*")
        if path.is_file() and path.name != "drill.json" and "ledger.db" not in path.name
    }
    assert found == {name: about["sha256"] for name, about in whole.told["files"].items()}
    assert {"report.html", "junit.xml", "timeline.jsonl", "metrics.csv"} <= found.keys()


def check_no_secret_is_in_any_file(tmp_path: Path) -> None:
    """Planted in the ledger, in a log and in what the broker exported; each in another spelling."""
    run = StoredRun(tmp_path, Clock())
    (tmp_path / "logs").mkdir()
    (tmp_path / "topology").mkdir()
    (tmp_path / "logs" / "worker.log").write_text(f"connecting to amqp://me:{PASSWORD}@h/\npassword=0ther-s3cret ok\n")
    (tmp_path / "topology" / "definitions.json").write_text('{"users": [{"password_hash": "aGFzaGVk"}], "queues": []}')
    run.ledger.note("note", "postgresql://drill:unkn0wn-s3cret@db/x", password="dict-s3cret")
    run.ledger.fact("baseline", "said", f"refused: {PASSWORD}", "the broker")
    run.fault("baseline", "kill", {"token": "bite-s3cret"}, secret="argument-s3cret")
    write(tmp_path, run.ledger, DRILL, [PASSWORD])
    run.ledger.close()
    planted = [PASSWORD, "0ther-s3cret", "aGFzaGVk", "unkn0wn-s3cret", "dict-s3cret", "bite-s3cret", "argument-s3cret"]
    texts = {path: path.read_text() for path in tmp_path.rglob("*") if path.is_file() and ".db" not in path.name}
    assert [] == [(path.name, secret) for path, text in texts.items() for secret in planted if secret in text]
    assert "connecting to amqp://me:***@h/\npassword=*** ok\n" == texts[tmp_path / "logs" / "worker.log"]
    assert '"queues": []' in texts[tmp_path / "topology" / "definitions.json"]


def test_no_secret_is_in_any_file(tmp_path: Path) -> None:
    check_no_secret_is_in_any_file(tmp_path / "right")
    fails_under("secrets_stay", check_no_secret_is_in_any_file, tmp_path / "wrong")


def test_only_what_was_asked_for_decides(tmp_path: Path) -> None:
    """`--only 2` that passed is a pass, as its exit code says; the page tells that the rest was not asked for."""
    run = StoredRun(tmp_path, Clock(), only=[2])
    run.ledger.judge(2, Judgement(Verdict.PASS, "seen"))
    run.ledger.finish("finished", 0)
    told = write(tmp_path, run.ledger, DRILL)
    run.ledger.close()
    assert ("PASS", {"code": 0, "by_criteria": 0, "rollback_failed": False}) == (told["verdict"], told["exit"])
    assert "Proven, of 3 criteria: 2. The others were not asked for." in (tmp_path / "report.html").read_text()


def test_a_criterion_that_was_added_counts_though_it_was_not_in_the_list(tmp_path: Path) -> None:
    """`--only 2 --rto 5` judges one more criterion."""
    run = StoredRun(tmp_path, Clock(), only=[2])
    run.ledger.judge(2, Judgement(Verdict.PASS, "seen"))
    run.ledger.judge(9, Judgement(Verdict.FAIL, "later than 5 s"))
    told = write(tmp_path, run.ledger, DRILL)
    run.ledger.close()
    assert ("FAIL", 1) == (told["verdict"], told["exit"]["by_criteria"])


def test_why_it_was_aborted_is_kept(tmp_path: Path) -> None:
    run = StoredRun(tmp_path, Clock())
    run.ledger.note("end", f"alert fires; amqp://me:{PASSWORD}@h/", state="aborted")
    run.ledger.finish("aborted", 5)
    told = write(tmp_path, run.ledger, DRILL, [PASSWORD])
    run.ledger.close()
    assert ("aborted", "alert fires; amqp://me:***@h/") == (told["state"], told["ended_because"])


def test_files_of_the_run_itself_stay_as_they_are(tmp_path: Path) -> None:
    run = StoredRun(tmp_path, Clock())
    (tmp_path / "topology").mkdir()
    binary = bytes(range(256))
    (tmp_path / "topology" / "queues.bin").write_bytes(binary)
    for _ in range(2):
        told = write(tmp_path, run.ledger, DRILL)
        assert binary == (tmp_path / "topology" / "queues.bin").read_bytes()
    run.ledger.close()
    assert 256 == told["files"]["topology/queues.bin"]["bytes"]
