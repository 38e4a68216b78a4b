"""Each way in which the way to a cluster fails has its kind and one line that says what to do."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from exporter.clients.kafka import failures, tls
from exporter.clients.kafka.reader import KafkaReader
from exporter.clients.rabbitmq import http
from exporter.clients.rabbitmq.reader import RabbitReader
from exporter.clients.reader import Reader
from exporter.config.model import Kafka, RabbitMQ
from exporter.model.common import Kind
from tests.mutations import fails_under, mutation
from tests.pem import certificates, self_signed
from tests.unit.errors import kafka_cases, rabbitmq_cases
from tests.unit.errors.case import Case, Cases
from tests.unit.errors.told import settings, told


@dataclass(frozen=True)
class System:
    """One of the two, as these tests drive it. `subject`: what each line begins with."""

    cases: Cases
    reader: Callable[[dict[str, Any]], Reader]
    addresses: str
    collector: str
    subject: str


KAFKA = System(
    kafka_cases.CASES, lambda given: KafkaReader(Kafka(**given)), "bootstrap_servers", "topics", "kafka/kafka: metadata"
)
RABBITMQ = System(
    rabbitmq_cases.CASES, lambda given: RabbitReader(RabbitMQ(**given)), "urls", "overview",
    "rabbitmq/rabbitmq: management API",
)  # fmt: skip
SYSTEMS = {"kafka": KAFKA, "rabbitmq": RABBITMQ}
ALL = [
    pytest.param(system, case, id=f"{name}: {case.name}") for name, system in SYSTEMS.items() for case in system.cases
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Certificates; `stranger.pem` has signed none of them."""
    made = tmp_path_factory.mktemp("pem")
    certificates(made)
    self_signed(made, "stranger")
    return made


@pytest.mark.parametrize(("system", "case"), ALL)
def test_it_is_told_apart_in_one_line_that_says_what_to_do(system: System, case: Case, folder: Path) -> None:
    check(system, case, folder)


def check(system: System, case: Case, folder: Path) -> None:
    with ExitStack() as stack:
        given = settings(case.scene(stack, folder))
        problems, lines = told(system.reader(given), system.collector, given[system.addresses][0], folder)
    assert {(case.kind, case.text)} == problems
    (line,) = lines
    assert line.startswith(f"warning {system.subject}: {case.text} (")
    assert line.endswith(f": {case.kind})")


@mutation
def connection_errors_as_python_says_them(patch: pytest.MonkeyPatch) -> None:
    """Why a connection failed is told in the words of the library that noticed."""
    told = lambda address, error: (Kind.UNREACHABLE, f"{address}: {error}")  # noqa: E731
    patch.setattr(tls, "failure", lambda address, error: failures.Failure(*told(address, error)))
    patch.setattr(http, "explain", lambda error, address, _: http.Failure(*told(address, error)))


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
def test_words_of_a_library_are_caught(system: System, folder: Path) -> None:
    case = next(case for case in system.cases if case.name == "expired certificate")
    fails_under("connection_errors_as_python_says_them", check, system, case, folder)


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
def test_no_two_cases_are_told_alike(system: System) -> None:
    assert len(system.cases) == len({case.text for case in system.cases}) == len({case.name for case in system.cases})
