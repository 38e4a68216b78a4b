"""`python -m benchmarks.soak`: an hour, or as many minutes as are asked for.

Exit codes: 0 every check held; 1 one did not; 2 it could not be run.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
from pathlib import Path

from benchmarks.soak import plot, record
from benchmarks.soak.broken import WAYS
from benchmarks.soak.processes import log_of
from benchmarks.soak.run import SYSTEMS, Soak
from drills.lab import Lab, LabError, Report, lab_names, report_to, take_down

NAME = "soak"


def main() -> int:
    """Run, write, tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--out", type=Path, default=Path("build/soak"))
    parser.add_argument("--broken", choices=sorted(WAYS), default="", help="an exporter broken on purpose")
    parser.add_argument("--lab", default="", help="a lab that is up, to be left as it is (default: one of its own)")
    given = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(130))  # so that the lab is taken down
    report = report_to(sys.stderr)
    try:
        if not given.lab and NAME in lab_names():
            take_down(NAME, report)
        lab = Lab.up(given.lab or NAME, SYSTEMS, report=report)
        return soak(lab, given.minutes, given.broken, given.out, report)
    except LabError as error:
        print(f"the soak can't run: {error}", file=sys.stderr)
        return 2
    finally:
        if not given.lab:
            take_down(NAME, report)


def soak(lab: Lab, minutes: float, broken: str, out: Path, report: Report) -> int:
    """The run and what is written about it."""
    run = Soak(lab, minutes, broken, report)
    try:
        account = run.run()
    finally:
        run.close()
        out.mkdir(parents=True, exist_ok=True)
        for name in ("exporter", "kafka_work", "reader", "rabbitmq_work"):
            if (log := log_of(lab, name)).exists():
                shutil.copy(log, out / f"{name}.log")
    checks = record.verdict(account, run.planned_restarts())
    record.write(out, account, checks)
    title = f"mq-exporter, {minutes:g} minutes: {len(account.rows)} scrapes, {len(account.troubles)} restarts"
    picture = plot.svg(account.rows, account.troubles, run.began, title)
    (out / "soak.svg").write_text(picture)
    lines = [(check.claim, check.held, check.seen) for check in checks]
    (out / "soak.html").write_text(plot.html(picture, title, lines, account.wrong[: record.SHOWN]))
    for line in account.wrong[:10] + account.failed[:10]:
        print(f"  {line}")
    for check in checks:
        print(f"{'held  ' if check.held else 'FAILED'}  {check.claim}: {check.seen}")
    print(f"see {out / 'soak.html'}, {out / 'soak.csv'}, {out / 'soak.json'}")
    return 0 if all(check.held for check in checks) else 1


if __name__ == "__main__":
    sys.exit(main())
