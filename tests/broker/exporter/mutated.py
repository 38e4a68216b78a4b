"""`python -m tests.broker.exporter.mutated NAME -- ARGS`: `mq-exporter ARGS`, broken on purpose by a mutation."""

from __future__ import annotations

import sys

from exporter.__main__ import main
from tests.broker.exporter import mutations_process
from tests.mutations import MUTATIONS

assert mutations_process  # importing it registers its mutations

if __name__ == "__main__":
    name, dashes, *arguments = sys.argv[1:]
    assert dashes == "--", "usage: python -m tests.broker.exporter.mutated NAME -- ARGS"
    sys.argv = ["mq-exporter", *arguments]
    with MUTATIONS[name]():
        sys.exit(main())
