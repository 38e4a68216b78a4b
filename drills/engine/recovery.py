"""After the driver of a run is gone: putting back what stands, and judging what was stored."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from drills.engine import evidence, guards, judging, processes, recovery_time
from drills.engine.accounts import check_the_checker
from drills.engine.drill import Criterion, Drill
from drills.engine.errors import Left, Refused
from drills.engine.interruptions import Interruptions
from drills.engine.runs import Note
from drills.engine.screen import Screen
from drills.engine.undo import Changes, first_line
from drills.lab.errors import LabError
from drills.lab.processes import Process
from drills.ledger import Ledger, tables
from drills.model.verdict import Exit, Judgement, Verdict, exit_of
from drills.targets.target import Target


def check_driver_gone(ledger: Ledger) -> None:
    """Raises Refused while the run's own driver is at work."""
    about = ledger.about()
    if about["state"] == "running" and Process(about["driver_pid"], about["driver_started"]).alive():
        raise Refused(f"run {ledger.run} is going on, as pid {about['driver_pid']}: press Ctrl-C there to roll it back")


def recover(folder: Path, ledger: Ledger, target: Target, screen: Screen) -> Exit:
    """Ends what still runs of a run and undoes what stands; PASS when nothing is left. Can run twice.

    Raises Refused while a driver is at work on the target.
    """
    with guards.one_driver(target, f"recover {ledger.run}"):
        check_driver_gone(ledger)
        signals = Interruptions(screen.line)
        signals.undoing = True
        with signals, screen:
            changes = Changes.of_ledger(target, ledger, screen, signals.deadline)
            try:
                return _recover(folder, ledger, target, screen, changes)
            except Left:
                left = "\n".join(f"  {line}" for line in changes.left())
                screen.loud(f"LEFT AS IT IS. Still to be done:\n{left}\nDo it with: mq-drill recover {ledger.run}")
                return Exit.ROLLBACK_FAILED


def _recover(folder: Path, ledger: Ledger, target: Target, screen: Screen, changes: Changes) -> Exit:
    try:
        ended = processes.end_all(ledger)
        screen.line(f"processes ended: {', '.join(ended) or 'none was left'}")
    except (SQLAlchemyError, OSError, LabError) as error:
        screen.line(f"processes of the run could not all be ended: {first_line(error)}")
    undoes = changes.left()
    if not undoes:
        screen.line("nothing that the run changed stands")
    changes.undo_all()
    left = changes.left()
    _note_end(ledger, screen, bool(left))
    if left:
        told = "\n".join(f"  {line}" for line in left)
        screen.loud(f"A PERSON IS NEEDED. Left:\n{told}\nWhen the reason is gone: mq-drill recover {ledger.run}")
        return Exit.ROLLBACK_FAILED
    guards.unmark_left(target, folder)
    screen.line(f"run {ledger.run} is recovered; judge what it stored with: mq-drill analyze {ledger.run}")
    return Exit.PASS


def _note_end(ledger: Ledger, screen: Screen, is_left: bool) -> None:
    """A run that its driver did not end is aborted; one that ended keeps its end, but for a failed rollback."""
    try:
        about = ledger.about()
        ledger.note("recovery", "recover: " + ("not everything was put back" if is_left else "all is put back"))
        if about["state"] == "running":
            ledger.finish("aborted", Exit.ROLLBACK_FAILED if is_left else Exit.ABORTED)
    except (SQLAlchemyError, OSError) as error:
        screen.line(f"the ledger can't take note of it: {first_line(error)}")


def analyze(
    folder: Path, note: Note, ledger: Ledger, drill: Drill, screen: Screen, target: Target | None = None
) -> Exit:
    """Judges a run again on what it stored, and writes its evidence anew. Touches no cluster.

    `target`, where it is still there: its passwords are kept out of the evidence.

    PASS and FAIL as by the criteria; ABORTED, REFUSED and ROLLBACK_FAILED stay what the run was.
    """
    check_driver_gone(ledger)
    with screen:
        about = ledger.about()
        if about["state"] == "running":
            screen.loud(
                f"The driver of {ledger.run} was killed. First put back what stands: mq-drill recover {ledger.run}"
            )
        only, rto = (about["parameters"].get(key) for key in ("only", "rto"))
        drill = recovery_time.judged(drill, rto, only)
        criteria, _ = drill.needed(None if only is None else [*only, *([drill.criteria[-1].number] if rto else [])])
        if not any(True for _ in ledger.rows(tables.attempts, "checker")) and judging.checker_lack(ledger) is not None:
            check_the_checker(ledger, note.business_url)

        def tell(one: Criterion, found: Judgement) -> None:
            screen.line(f"criterion {one.number} {found.verdict.value}: {one.title}: {found.because}")

        verdicts = judging.judge(criteria, ledger, tell)
        code = analyzed_code(ledger, verdicts)
        evidence.write(folder, note, ledger, drill, target)
        screen.line(f"{ledger.run}: exit code {int(code)} ({code.name}); see {folder}")
        return code


def analyzed_code(ledger: Ledger, verdicts: list[Verdict]) -> Exit:
    """What stands is worst; else a run that was cut off stays so; else what the criteria say."""
    about = ledger.about()
    if ledger.standing_changes():
        return Exit.ROLLBACK_FAILED
    cut_off = {"aborted": Exit.ABORTED, "running": Exit.ABORTED, "refused": Exit.REFUSED}
    return cut_off.get(about["state"], exit_of(verdicts))
