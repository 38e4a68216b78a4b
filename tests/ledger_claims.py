"""What a ledger promises, whichever database it is in: each claim takes the URL of an empty one."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import pytest
import sqlalchemy.exc

from drills.ledger import Ledger, tables
from drills.model.publish import Attempt, Outcome
from drills.model.verdict import Judgement, Verdict

RUN = "crash-window-20261201-021500-5eed"
HOSTILE = "E1 \"quoted\" 'single' \\ ; DROP TABLE runs;-- <b> naïve 消息 \n second line"
WRITER = """
import sys
from drills.ledger import Ledger
from drills.model.publish import Outcome
url, run, name, count = sys.argv[1:4] + [int(sys.argv[4])]
ledger = Ledger(url, run)
print("ready", flush=True)
sys.stdin.readline()
for turn in range(count):
    number = ledger.attempt("baseline", "E001", name)
    ledger.settle("baseline", "E001", number, Outcome.CONFIRMED, writer=name)
    ledger.plan_change("baseline", "vhost", {"writer": name}, is_fault=False)
    ledger.delivered("baseline", f"{name}-{turn}", name, "queue")
"""


def opened(url: str, run: str = RUN) -> Ledger:
    """A ledger with its tables and the row of its run."""
    ledger = Ledger(url, run)
    ledger.create()
    ledger.begin(drill="crash-window", target="dev", seed=2**40 + 1, quick=True, **_driver())
    return ledger


def _driver() -> dict[str, Any]:
    return {"driver_pid": 1, "driver_started": 2**33, "parameters": {"count": 100}, "versions": {"pika": "1"}}


def without_clocks(rows: Any, *names: str) -> list[dict[str, Any]]:
    """The rows without times and keys, which differ from run to run."""
    dropped = {"number", "wall", "monotonic", "run", *names}
    return [{name: value for name, value in row.items() if name not in dropped} for row in rows]


def what_is_written_is_read_back(url: str) -> None:
    ledger = opened(url)
    ledger.note("note", HOSTILE, "baseline", value=HOSTILE)
    ledger.fact("baseline", "depth", 99, "first")
    ledger.fact("baseline", "depth", None, "second")
    ledger.fact("", HOSTILE, {"a": [1, 2.5, HOSTILE, None, True]}, "third")
    ledger.delivered("baseline", HOSTILE, "consumer", "queue", redelivered=True, tag=7)
    ledger.decide("baseline", "E1", "retry", why="lost answer")
    ledger.close()

    again = Ledger(url, RUN)
    expected = {"kind": "note", "case": "baseline", "text": HOSTILE, "data": {"value": HOSTILE}}
    assert [expected] == without_clocks(again.rows(tables.timeline))
    assert {"baseline": {"depth": None}, "": {HOSTILE: {"a": [1, 2.5, HOSTILE, None, True]}}} == again.facts()
    delivery = {"case": "baseline", "event_id": HOSTILE, "worker": "consumer", "place": "queue", "redelivered": True}
    assert [delivery | {"detail": {"tag": 7}}] == without_clocks(again.rows(tables.deliveries), "at")
    assert ["retry"] == [row["decision"] for row in again.rows(tables.decisions, "baseline")]
    assert [] == again.rows(tables.decisions, "another case")
    about = again.about()
    assert (2**40 + 1, 2**33, "running", None) == tuple(
        about[name] for name in ("seed", "driver_started", "state", "ended")
    )
    again.close()


def a_run_that_is_not_there_is_told(url: str) -> None:
    opened(url).close()
    other = Ledger(url, "another")
    with pytest.raises(LookupError, match="another"):
        other.about()
    other.close()


def runs_do_not_see_each_other(url: str) -> None:
    one, two = opened(url), opened(url, "another")
    one.attempt("baseline", "E1", "publisher")
    number = one.plan_change("baseline", "vhost", {}, is_fault=False)
    one.judge(1, Judgement(Verdict.PASS, "one"))
    assert 1 == two.attempt("baseline", "E1", "publisher")
    two.settle("baseline", "E1", 1, Outcome.CONFIRMED)
    two.change(number, undone=1.0)
    assert [Attempt("E1", 1, Outcome.PENDING)] == one.attempts("baseline")
    assert [number] == [row["number"] for row in one.standing_changes()]
    assert {} == two.judgements()
    one.close()
    two.close()


def an_attempt_is_pending_until_it_is_settled(url: str) -> None:
    ledger = opened(url)
    assert (1, 2, 1) == tuple(ledger.attempt("baseline", event, "publisher") for event in ("E1", "E1", "E2"))
    ledger.settle("baseline", "E1", 2, Outcome.RETURNED, reply_code=312)
    ledger.close()
    again = Ledger(url, RUN)
    expected = [
        Attempt("E1", 1, Outcome.PENDING),
        Attempt("E1", 2, Outcome.RETURNED),
        Attempt("E2", 1, Outcome.PENDING),
    ]
    assert expected == again.attempts("baseline")
    rows = again.rows(tables.attempts)
    assert [(False, {}), (True, {"reply_code": 312}), (False, {})] == [
        (row["settled"] is not None, row["detail"]) for row in rows
    ]
    again.close()


def a_confirm_is_not_taken_back(url: str) -> None:
    """Late answers replace what is not known; after a confirm they are noted, and change nothing."""
    ledger = opened(url)
    said = {"E1": (Outcome.UNKNOWN, Outcome.CONFIRMED), "E2": (Outcome.CONFIRMED, Outcome.NACKED)}
    for event, outcomes in said.items():
        ledger.attempt("baseline", event, "publisher")
        for outcome in outcomes:
            ledger.settle("baseline", event, 1, outcome)
    assert [Attempt("E1", 1, Outcome.CONFIRMED), Attempt("E2", 1, Outcome.CONFIRMED)] == ledger.attempts("baseline")
    noted = [(row["kind"], row["text"]) for row in ledger.rows(tables.timeline)]
    assert [("observation", "E2, attempt 1: nacked after it was confirmed")] == noted
    ledger.close()


def changes_stand_until_undone_the_last_first(url: str) -> None:
    ledger = opened(url)
    numbers = [ledger.plan_change("baseline", "vhost", {"n": n}, is_fault=n == 1) for n in range(3)]
    assert [1, 2, 3] == numbers
    ledger.change(2, made=1.0, bite={"state": "gone"}, bitten=2.0, undone=3.0)
    ledger.change(3, undo_error="refused")
    assert [3, 1] == [row["number"] for row in ledger.standing_changes()]
    ledger.close()


def a_later_judgement_takes_the_place_of_the_first(url: str) -> None:
    ledger = opened(url)
    ledger.judge(1, Judgement(Verdict.UNKNOWN, "no bite"))
    later = Judgement(Verdict.FAIL, HOSTILE, ("E1", HOSTILE), {"depth": 3})
    ledger.judge(1, later)
    ledger.judge(8, Judgement(Verdict.NOT_RUN, "stopped"))
    ledger.close()
    again = Ledger(url, RUN)
    assert {1: later, 8: Judgement(Verdict.NOT_RUN, "stopped")} == again.judgements()
    again.close()


def hooks_and_workers_are_closed_by_what_ends_them(url: str) -> None:
    ledger = opened(url)
    ledger.worker_began(name="consumer-1", case="baseline", role="consumer", pid=7, started=2**33)
    numbers = [ledger.hook_reached("baseline", "consumer-1", "AFTER_COMMIT", event) for event in ("E1", "E2")]
    ledger.hook_released(numbers[0])
    ledger.worker_ended("consumer-1", -9)
    assert [True, False] == [row["released"] is not None for row in ledger.rows(tables.hooks)]
    assert [-9] == [row["exit_code"] for row in ledger.rows(tables.workers)]
    ledger.close()


def many_processes_write_at_once(url: str, processes: int = 4, each: int = 12) -> None:
    """Nothing is lost, nothing shares a number, and nobody is refused."""
    ledger = opened(url)
    arguments = [(url, RUN, f"w{n}", str(each)) for n in range(processes)]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, *one], text=True, **pipes) for one in arguments]
    try:
        assert ["ready\n"] * processes == [writer.stdout.readline() for writer in writers]
        ended = list(_go(writers))
    finally:
        for writer in writers:
            writer.kill()
            writer.wait()
    assert [(0, "")] * processes == ended
    total = processes * each
    assert [Attempt("E001", n, Outcome.CONFIRMED) for n in range(1, total + 1)] == ledger.attempts("baseline")
    rows = ledger.rows(tables.attempts)
    assert [row["worker"] for row in rows] == [row["detail"]["writer"] for row in rows]
    assert list(range(1, total + 1)) == [row["number"] for row in ledger.rows(tables.changes)]
    expected = {f"w{n}-{turn}" for n in range(processes) for turn in range(each)}
    assert expected == {row["event_id"] for row in ledger.rows(tables.deliveries)}
    ledger.close()


def _go(writers: list[subprocess.Popen[str]]) -> Any:
    """Releases all of them, then waits: exit code and what each complained about."""
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        _, complaint = writer.communicate(timeout=60)
        yield writer.returncode, complaint


def threads_share_one_ledger(url: str) -> None:
    ledger = opened(url)
    numbers: list[int] = []

    def write() -> None:
        numbers.extend(ledger.plan_change("baseline", "vhost", {}, is_fault=False) for _ in range(10))

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(range(1, 41)) == sorted(numbers)
    ledger.close()


def a_write_survives_a_kill_right_after_it(url: str) -> None:
    """What returned is on disk: the process that wrote it ends at once by SIGKILL."""
    opened(url).close()
    code = (
        "import os, signal, sys\nfrom drills.ledger import Ledger\nledger = Ledger(*sys.argv[1:])\n"
        "ledger.fact('baseline', 'last words', {'n': 1}, 'me')\nledger.attempt('baseline', 'U001', 'publisher')\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code, url, RUN], timeout=60, check=False)
    assert -9 == ended.returncode
    ledger = Ledger(url, RUN)
    assert {"baseline": {"last words": {"n": 1}}} == ledger.facts()
    assert [Attempt("U001", 1, Outcome.PENDING)] == ledger.attempts("baseline")
    ledger.close()


def plain_json_is_stored(url: str) -> None:
    """Facts are read by other programs too: what is stored is JSON, and what is not JSON is refused."""
    ledger = opened(url)
    with pytest.raises((TypeError, sqlalchemy.exc.StatementError), match="JSON"):
        ledger.fact("baseline", "depth", object(), "nobody")
    assert {} == ledger.facts()
    ledger.close()


CLAIMS = (
    what_is_written_is_read_back,
    a_run_that_is_not_there_is_told,
    runs_do_not_see_each_other,
    an_attempt_is_pending_until_it_is_settled,
    a_confirm_is_not_taken_back,
    changes_stand_until_undone_the_last_first,
    a_later_judgement_takes_the_place_of_the_first,
    hooks_and_workers_are_closed_by_what_ends_them,
    many_processes_write_at_once,
    threads_share_one_ledger,
    a_write_survives_a_kill_right_after_it,
    plain_json_is_stored,
)
