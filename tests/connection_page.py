"""docs/connection-errors.md, from the tables by which the tests make each error. `python -m tests.connection_page`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from tests.unit.errors import kafka_cases, rabbitmq_cases
from tests.unit.errors.case import Case, Cases
from tests.written_page import write_or_print

PAGE = Path(__file__).parents[1] / "docs" / "connection-errors.md"
HEAD = """\
# When a cluster can't be reached

Each of these is one line in the exporter's log when it begins (and one when it is over), the problem of a collector on
the status page and in `/api/v1/snapshot`, and counts in `mq_exporter_collector_errors_total{kind="..."}` at each poll.
`HERE` stands for the address: the broker's HOST:PORT, or the URL without user. What is said is what was seen from the
exporter's machine: try there.

`tests/unit/errors/` makes every one of them and compares the whole text. Written by `make docs`; do not edit.
"""
SYSTEMS = {"Kafka": kafka_cases.CASES, "RabbitMQ": rabbitmq_cases.CASES}


def page() -> str:
    """The whole of it."""
    return HEAD + "".join(part for system, cases in SYSTEMS.items() for part in _system(system, cases))


def _system(system: str, cases: Cases) -> Iterator[str]:
    yield f"\n## {system}\n"
    for case in cases:
        yield f"\n### {_title(case)}\n\n```\n{case.text}\n```\n\n"
        yield f"- **kind** `{case.kind}`\n- **what it means** {case.means}\n- **what to do** {case.do}\n"


def _title(case: Case) -> str:
    title = " ".join(WRITTEN.get(word, word) for word in case.name.split())
    return title[0].upper() + title[1:]


WRITTEN = {"ca": "CA", "tls": "TLS", "sasl": "SASL", "http": "HTTP", "amqp": "AMQP", "rabbitmqs": "RabbitMQ's"}


if __name__ == "__main__":
    sys.exit(write_or_print(PAGE, page, sys.argv[1:]))
