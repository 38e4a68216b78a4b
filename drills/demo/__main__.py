"""`python -m drills.demo`: a lab, an exporter, a Prometheus and a workload; then what Prometheus says about it."""

from __future__ import annotations

import argparse
import sys

from drills.demo.run import start, stop


def main() -> int:
    """Run or stop the demo. Exit 0: every value agrees with the ledger, and a drill passed; 1: not; 2: it can't run."""
    parser = argparse.ArgumentParser(prog="python -m drills.demo", description=__doc__)
    parser.add_argument("--stop", action="store_true", help="end everything that the demo started, and forget its data")
    parser.add_argument("--no-drill", action="store_true", help="end without the drill, which takes four minutes")
    parser.add_argument("--name", default="demo", help="name of the lab instance (default: demo)")
    arguments = parser.parse_args()
    return stop(arguments.name) if arguments.stop else start(arguments.name, with_drill=not arguments.no_drill)


if __name__ == "__main__":
    sys.exit(main())
