"""The end of a run: the checker is checked, criteria are judged, evidence is written, and the exit code follows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from drills.engine import evidence, judging
from drills.engine.accounts import check_the_checker
from drills.engine.drill import Criterion
from drills.engine.errors import Aborted
from drills.engine.undo import first_line
from drills.model.verdict import Exit, Judgement, Verdict, exit_of

if TYPE_CHECKING:
    from drills.engine.driver import Driver

SECONDS = 300.0  # for each of judging and evidence


def conclude(driver: Driver, criteria: Sequence[Criterion]) -> Exit:
    """The exit code. Judges what there is, also after an abort."""
    verdicts = _judge(driver, criteria)
    code = _code(driver, verdicts)
    problem = _write(driver, code)
    if problem is not None:
        driver.screen.loud(
            f"THE EVIDENCE IS NOT WHOLE: {problem}\nMake room, then: mq-drill analyze {driver.run}\n"
            "(a rollback does not depend on it)"
        )
        code = Exit.INCONCLUSIVE if code is Exit.PASS else code
    _tell(driver, verdicts, code)
    return code


def _judge(driver: Driver, criteria: Sequence[Criterion]) -> list[Verdict]:
    nothing = [Verdict.NOT_RUN for _ in criteria]
    if driver.ended.refused is not None:
        return nothing
    try:
        with driver.phase("", "judge", SECONDS):
            check_the_checker(driver.ledger, driver.note.business_url)
            return judging.judge(criteria, driver.ledger, lambda one, found: _tell_one(driver, one, found))
    except Aborted as aborted:
        driver.ended.aborted = driver.ended.aborted or str(aborted)
    except Exception as error:  # noqa: BLE001 - the end of the run is told and written all the same
        driver.ended.aborted = driver.ended.aborted or f"the run could not be judged: {first_line(error)}"
    return nothing


def _code(driver: Driver, verdicts: Sequence[Verdict]) -> Exit:
    """A rollback that failed comes before all: a person is needed. What the criteria say stays in the record."""
    if driver.ended.left:
        return Exit.ROLLBACK_FAILED
    if driver.ended.refused is not None:
        return Exit.REFUSED
    return Exit.ABORTED if driver.ended.aborted is not None else exit_of(verdicts)


def _write(driver: Driver, code: Exit) -> str | None:
    """Writes the end of the run and its evidence; why it could not be written whole."""
    ended = driver.ended
    state = "refused" if ended.refused is not None else "aborted" if ended.aborted is not None else "finished"
    try:
        driver.reading.end()
        with driver.phase("", "evidence", SECONDS):
            if (why := ended.refused or ended.aborted) is not None:
                driver.ledger.note("end", why, state=state)
            driver.ledger.finish(state, code)
            evidence.write(driver.folder, driver.note, driver.ledger, driver.drill, driver.target)
    except (Aborted, Exception) as error:  # noqa: BLE001 - evidence that can't be written changes no verdict
        return f"{type(error).__name__}: {first_line(error)}"
    return driver.reading.trouble()


def _tell_one(driver: Driver, criterion: Criterion, found: Judgement) -> None:
    driver.screen.line(f"criterion {criterion.number} {found.verdict.value}: {criterion.title}: {found.because}")


def _tell(driver: Driver, verdicts: Sequence[Verdict], code: Exit) -> None:
    """The last lines: what a person reads first."""
    ended, screen = driver.ended, driver.screen
    if ended.refused is not None:
        screen.loud(f"REFUSED: {ended.refused}")
    if ended.left:
        left = "\n".join(f"  {line}" for line in ended.left)
        screen.loud(
            f"A PERSON IS NEEDED: not everything was put back. Left:\n{left}\nTry: mq-drill recover {driver.run}"
        )
    counts = ", ".join(f"{verdicts.count(one)} {one.value}" for one in Verdict if one in verdicts)
    quick = " (quick: smaller counts, which is not the full drill)" if driver.options.quick else ""
    screen.line(f"{driver.run}: {counts}{quick}; exit code {int(code)} ({code.name}); see {driver.folder}")
