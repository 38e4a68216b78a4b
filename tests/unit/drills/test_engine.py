"""What a run promises, shown with a drill that needs no broker."""

from __future__ import annotations

import json
import resource
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from drills.engine.drill import PHASES
from drills.lab import target_file
from drills.lab.waiting import wait_for
from drills.ledger import tables
from drills.model.verdict import Exit, Verdict
from tests.tiny.world import SECONDS, TARGET, World

pytestmark = pytest.mark.slow  # each plays whole runs in processes of their own

RUN = ("run", "tiny", "--target", TARGET, "--yes", TARGET)
BEFORE = {"setting-setting": "whole"}
EVIDENCE = {"drill.json", "timeline.jsonl", "report.html", "junit.xml", "ids", "logs"}
CASE_PHASES = [f"setting:{phase}" for phase in PHASES]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return World.make(tmp_path, monkeypatch)


@pytest.fixture
def other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, world: World) -> Callable[[], World]:
    """Makes a second world, which takes the place of the first."""

    def make() -> World:
        (tmp_path / "other").mkdir()
        return World.make(tmp_path / "other", monkeypatch)

    return make


def fails_with(mutation: str, check: Callable[..., None], other: Callable[[], World]) -> None:
    """The check must object when the run, a process of its own, has this mutation in force."""
    with pytest.raises(AssertionError):
        check(other(), mutate=mutation)


def verdicts(world: World) -> dict[int, Verdict]:
    return {number: found.verdict for number, found in world.ledger().judgements().items()}


def because(world: World, criterion: int) -> str:
    return world.ledger().judgements()[criterion].because


def test_a_run_passes_and_puts_everything_back(world: World) -> None:
    code, out = world.run(*RUN, "--seed", "7")
    assert Exit.PASS == code, out
    assert BEFORE == world.contents()
    assert {1: Verdict.PASS, 2: Verdict.PASS} == verdicts(world)
    assert [] == world.ledger().standing_changes()
    assert ("finished", 0, 7) == tuple(world.ledger().about()[key] for key in ("state", "exit_code", "seed"))
    assert [] == world.living()
    assert EVIDENCE <= {path.name for path in (world.root / "runs" / world.name).iterdir()}


def test_a_change_is_in_the_ledger_before_it_is_made(world: World) -> None:
    world.run(*RUN)
    rows = world.ledger().rows(tables.changes)
    assert ["file", "file", "kill_worker"] == [row["kind"] for row in rows]
    assert [True] * 3 == [row["planned"] <= row["made"] <= row["bitten"] <= row["undone"] for row in rows]
    assert ["whole", None] == [rows[1]["arguments"]["before"], rows[0]["arguments"]["before"]]


@pytest.mark.parametrize("where", [":preflight", *CASE_PHASES, ":judge", ":evidence"])
def test_a_run_whose_driver_is_killed_is_recovered_and_judged(world: World, where: str) -> None:
    world.kill_run(where)
    stood = {"setting:inject", "setting:observe"}
    assert ("broken" if where in stood else "whole") == world.contents()["setting-setting"]
    assert Exit.PASS == world.call("recover", world.name)
    assert BEFORE == world.contents()
    assert [] == world.living()
    assert [] == world.ledger().standing_changes()
    assert Exit.PASS == world.call("recover", world.name)  # it can run twice
    ended = Exit.PASS if where == ":evidence" else Exit.ABORTED  # only its evidence was not written
    assert ended == world.call("analyze", world.name)
    done = where in (":judge", ":evidence")
    first, second = (Verdict.PASS, Verdict.PASS) if done else (Verdict.NOT_RUN, Verdict.NOT_RUN)
    assert {1: first, 2: second} == verdicts(world)
    assert Exit.PASS == world.run(*RUN)[0] if where == "setting:inject" else True  # the target is free again


def test_a_lost_ledger_is_told_with_what_is_left_to_do(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is made in its place: an empty ledger would say that nothing stands."""
    world.kill_run("setting:inject")
    folder = world.root / "runs" / world.name
    for part in folder.glob("ledger.db*"):
        part.unlink()
    for command in ("recover", "analyze", "report"):
        assert Exit.USAGE == world.call(command, world.name)
        told = capsys.readouterr().err
        assert f"the ledger of {world.name} is not at {folder / 'ledger.db'}" in told
        assert f"remove what is named drill-{world.name}-*" in told
    assert [] == list(folder.glob("ledger.db*"))


def test_a_target_that_has_moved_is_given_to_recover(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.kill_run("setting:inject")
    note = world.root / "runs" / world.name / "run.json"
    target = json.loads(note.read_text())["target"]
    note.write_text(note.read_text().replace(target, "/gone/target.yaml"))
    assert Exit.USAGE == world.call("recover", world.name)
    assert "there is no target file /gone/target.yaml: give its path with --target" in capsys.readouterr().err
    assert Exit.PASS == world.call("recover", world.name, "--target", TARGET)
    assert BEFORE == world.contents()


def test_a_target_with_an_unrecovered_run_is_refused(world: World) -> None:
    world.kill_run("setting:inject")
    code, out = world.run(*RUN)
    assert Exit.REFUSED == code
    assert f"mq-drill recover {world.root / 'runs' / world.name}" in out


def test_a_run_that_goes_on_is_not_recovered_by_another(world: World) -> None:
    child = world.begin_run("setting:inject")
    assert Exit.REFUSED == world.call("recover", world.name)
    assert "broken" == world.contents()["setting-setting"]
    child.kill()
    child.communicate()


def test_a_second_driver_on_a_target_is_refused(world: World) -> None:
    child = world.begin_run("setting:inject")
    code, out = world.run(*RUN)
    assert Exit.REFUSED == code
    assert "is in use" in out
    (world.files / "go").touch()
    assert Exit.PASS == child.wait(SECONDS)
    child.communicate()


def check_ctrl_c(world: World, **orders: Any) -> None:
    child = world.begin_run("setting:inject", **orders)
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=SECONDS)
    assert Exit.ABORTED == child.returncode, out
    assert BEFORE == world.contents()
    setting, resource = (f"{world.files}/setting-{name}" for name in ("setting", "resource"))
    assert f"ABORTED: Ctrl-C. Rolled back: put {setting} back as it was; remove {resource}\n" in out
    assert {1: Verdict.NOT_RUN, 2: Verdict.NOT_RUN} == verdicts(world)
    assert [] == world.living()


def test_ctrl_c_rolls_back_and_says_what(world: World, other: Callable[[], World]) -> None:
    check_ctrl_c(world)
    fails_with("rollback_only_when_all_went_well", check_ctrl_c, other)


def check_kill_while_made(world: World, **orders: Any) -> None:
    world.kill_run(":make", **orders)
    assert "broken" == world.contents()["setting-setting"]
    assert Exit.PASS == world.call("recover", world.name)
    assert BEFORE == world.contents()


def test_a_change_is_undone_though_the_driver_died_while_it_was_made(world: World, other: Callable[[], World]) -> None:
    check_kill_while_made(world)
    fails_with("changes_noted_after_they_are_made", check_kill_while_made, other)


def check_undo_is_seen(world: World, **orders: Any) -> None:
    code, out = world.run(*RUN, undo_does_nothing="setting-resource", verified=0.5, **orders)
    assert Exit.ROLLBACK_FAILED == code, out
    assert "setting-resource is not as it was before the run" in out


def test_an_undo_that_does_nothing_is_seen(world: World, other: Callable[[], World]) -> None:
    check_undo_is_seen(world)
    fails_with("undo_taken_on_trust", check_undo_is_seen, other)


def test_a_second_ctrl_c_says_what_is_left_and_how_to_put_it_back(world: World) -> None:
    child = world.begin_run(":undo")
    child.send_signal(signal.SIGINT)
    assert child.stdout is not None
    out = ""
    for line in child.stdout:
        out += line
        if "press Ctrl-C again" in line:
            break
    child.send_signal(signal.SIGINT)
    rest, _ = child.communicate(timeout=SECONDS)
    assert Exit.ROLLBACK_FAILED == child.returncode, out + rest
    assert "LEFT AS IT IS. Still to be done:" in rest
    assert f"  put {world.files}/setting-setting back as it was\n" in rest
    assert f"mq-drill recover {world.name}" in rest
    assert Exit.PASS == world.call("recover", world.name)
    assert BEFORE == world.contents()


def test_a_rollback_that_fails_is_shouted_and_stands_beside_the_verdict(world: World) -> None:
    code, out = world.run(*RUN, undo_fails="setting-resource")
    assert Exit.ROLLBACK_FAILED == code, out
    assert "ROLLBACK FAILED: `remove" in out
    assert "A PERSON IS NEEDED" in out
    assert {1: Verdict.PASS, 2: Verdict.PASS} == verdicts(world)
    assert 6 == world.ledger().about()["exit_code"]
    assert Exit.PASS == world.call("recover", world.name)
    assert BEFORE == world.contents()


def test_a_case_that_fails_is_undone_and_the_others_go_on(world: World) -> None:
    code, out = world.run(*RUN, fails="setting")
    assert Exit.INCONCLUSIVE == code, out
    assert BEFORE == world.contents()
    assert {1: Verdict.UNKNOWN, 2: Verdict.PASS} == verdicts(world)
    assert "case setting failed in observe: LookupError: the case was told to fail" == because(world, 1)


def test_a_fault_without_proof_is_no_pass(world: World) -> None:
    code, out = world.run(*RUN, bites=False)
    assert Exit.INCONCLUSIVE == code, out
    assert {1: Verdict.UNKNOWN, 2: Verdict.PASS} == verdicts(world)
    assert because(world, 1).startswith("not proven to have bitten: file ")


def check_the_checker(world: World, **orders: Any) -> None:
    code, out = world.run(*RUN, blind_checker=True, **orders)
    assert Exit.INCONCLUSIVE == code, out
    assert {1: Verdict.UNKNOWN, 2: Verdict.UNKNOWN} == verdicts(world)
    assert because(world, 2).startswith("the checker failed: it did not object to ")


def test_a_checker_that_does_not_object_lets_nothing_pass(world: World, other: Callable[[], World]) -> None:
    check_the_checker(world)
    fails_with("checker_not_heeded", check_the_checker, other)


def test_a_watchdog_aborts_a_phase_that_hangs_and_rolls_back(world: World) -> None:
    code, out = world.run(*RUN, hold="setting:inject", seconds=2.0)
    assert Exit.ABORTED == code, out
    assert "ABORTED: watchdog: inject of setting took longer than 2 s. Rolled back: " in out
    assert BEFORE == world.contents()


def test_a_preflight_that_is_not_met_touches_nothing(world: World) -> None:
    code, out = world.run(*RUN, lack="the moon is full")
    assert Exit.REFUSED == code, out
    assert "REFUSED: drill tiny can't begin on nothing: the moon is full" in out
    assert [] == world.ledger().rows(tables.changes)


def test_a_full_disk_for_the_record_ends_the_run_and_is_rolled_back(world: World) -> None:
    """The limit on the size of files stands for the disk: writes fail half-way through the case."""
    child = world.begin_run("setting:inject")
    pid = child.pid
    written = max(path.stat().st_size for path in (world.root / "runs").rglob("*.db*"))
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (written, resource.RLIM_INFINITY))
    (world.files / "go").touch()
    out, _ = child.communicate(timeout=SECONDS)
    assert Exit.ABORTED == child.returncode, out
    assert BEFORE == world.contents()
    assert "ABORTED: the run's record can't be written: " in out
    assert f"mq-drill analyze {world.name}" in out
    assert Exit.PASS == world.call("recover", world.name)


def test_a_full_disk_for_the_evidence_is_told_and_it_is_written_later(world: World) -> None:
    child = world.begin_run(":evidence")
    resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
    (world.files / "go").touch()
    out, _ = child.communicate(timeout=SECONDS)
    assert Exit.INCONCLUSIVE == child.returncode, out
    assert "THE EVIDENCE IS NOT WHOLE: " in out
    assert BEFORE == world.contents()
    assert Exit.PASS == world.call("analyze", world.name)
    assert EVIDENCE <= {path.name for path in (world.root / "runs" / world.name).iterdir()}


def test_only_the_cases_of_the_criteria_that_are_asked_for_are_played(world: World) -> None:
    code, out = world.run(*RUN, "--only", "2")
    assert Exit.PASS == code, out
    assert {2: Verdict.PASS} == verdicts(world)
    assert {"second"} == {row["case"] for row in world.ledger().rows(tables.timeline) if row["case"]}


REFUSED = {
    "not drillable": ("drillable: true", "drillable: false", "does not say `drillable: true`"),
    "another name": (f"name: {TARGET}\n", "name: production\n", "the cluster says that it is 'nothing'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_target_that_may_not_be_broken_is_refused(
    world: World, case: str, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new, told = REFUSED[case]
    path = world.root / "labs" / TARGET / target_file.FILE
    path.write_text(path.read_text().replace(old, new))
    assert Exit.REFUSED == world.call("run", "tiny", "--target", str(path), "--yes", TARGET)
    assert told in capsys.readouterr().err
    assert not (world.root / "runs").exists()


def test_without_a_terminal_the_line_to_type_is_told(world: World) -> None:
    code, out = world.run("run", "tiny", "--target", TARGET, "--quick")
    assert Exit.REFUSED == code
    assert "mq-drill run tiny --target nothing --quick --yes nothing\n" in out
    assert BEFORE == world.contents()


WRONG = {
    "drill": (("run", "huge", "--target", TARGET), "there is no drill 'huge'; there are: node, tiny"),
    "criterion": ((*RUN, "--only", "9"), "tiny has no criterion 9; it has 1, 2"),
    "target": (("run", "tiny", "--target", "gone"), "there is no lab 'gone' with a target file (labs: nothing)"),
    "run": (("recover", "tiny-1"), "there is no run 'tiny-1'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_usage_names_what_there_is(world: World, case: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, told = WRONG[case]
    assert Exit.USAGE == world.call(*arguments)
    assert told in capsys.readouterr().err


def test_a_plan_names_everything_and_touches_nothing(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert Exit.PASS == world.call("plan", "tiny", "--only", "1")
    told = capsys.readouterr().out
    assert "  make a file, break it for 3 events\n" in told
    assert "  1. three events, one effect each (judged on: setting)\n" in told
    assert "case second" not in told
    assert BEFORE == world.contents()


def test_list_and_status_tell_what_there_is(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.kill_run("setting:inject")
    assert (0, 0) == (world.call("list"), world.call("status", world.name))
    told = capsys.readouterr().out
    assert "tiny             2 criteria, no broker\n" in told
    (line,) = [line for line in told.splitlines() if line.startswith(world.name)]
    assert "KILLED" in line
    assert line.endswith(f"  2 changes may stand: mq-drill recover {world.name}")
    wait_for("workers of a killed driver end by themselves", lambda: ", ".join(world.living()) or None, 10)


RTO = {"kept": ("60", Verdict.PASS, "at most "), "missed": ("0.000001", Verdict.FAIL, "later than 1e-06 s: setting: ")}


@pytest.mark.parametrize("case", RTO)
def test_with_rto_the_time_to_service_is_a_criterion_too(world: World, case: str) -> None:
    seconds, verdict, told = RTO[case]
    code, out = world.run(*RUN, "--rto", seconds, "--only", "1")
    assert (Exit.PASS if verdict is Verdict.PASS else Exit.FAIL) == code, out
    assert {1: Verdict.PASS, 3: verdict} == verdicts(world)
    assert because(world, 3).startswith(told)
