"""`python -m drills` is the command `mq-drill`."""

from __future__ import annotations

import sys

from drills.cli import main

if __name__ == "__main__":
    sys.exit(main())
