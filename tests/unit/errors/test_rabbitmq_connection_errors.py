"""Each way in which the way to the management API fails has its kind and one line that says what to do."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from exporter.clients.rabbitmq.reader import RabbitReader
from exporter.config.model import RabbitMQ
from tests.unit.errors.case import Case
from tests.unit.errors.rabbitmq_cases import CASES
from tests.unit.errors.servers import pem_folder
from tests.unit.errors.told import settings, told


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pem_folder(tmp_path_factory.mktemp("pem"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_it_is_told_apart_in_one_line_that_says_what_to_do(case: Case, folder: Path) -> None:
    with ExitStack() as stack:
        given = settings(case.scene(stack, folder))
        reader = RabbitReader(RabbitMQ(**given))
        problems, lines = told(reader, "overview", given["urls"][0], folder)
    assert {(case.kind, case.text)} == problems
    (line,) = lines
    assert line.startswith(f"warning rabbitmq/rabbitmq: management API: {case.text} (")
    assert line.endswith(f": {case.kind})")


def test_no_two_cases_are_told_alike() -> None:
    assert len(CASES) == len({case.text for case in CASES}) == len({case.name for case in CASES})
