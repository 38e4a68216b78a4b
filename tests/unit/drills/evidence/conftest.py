"""Stored runs and the evidence written of them, once for all tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from drills.evidence import write
from tests import stored_run
from tests.stored_run import DRILL, PASSWORD, Clock, StoredRun

Make = Callable[[Path, Clock], StoredRun]


@dataclass(frozen=True)
class Written:
    """A stored run and what was written of it."""

    folder: Path
    told: dict[str, Any]

    @property
    def page(self) -> str:
        return (self.folder / "report.html").read_text()


def written(make: Make, folder: Path) -> Written:
    with pytest.MonkeyPatch.context() as patch:
        clock = Clock()
        patch.setattr("drills.ledger.ledger.time", clock)
        patch.setattr("drills.ledger.clock.now", clock.time)
        run = make(folder, clock)
    told = write(folder, run.ledger, DRILL, [PASSWORD])
    run.ledger.close()
    return Written(folder, told)


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Written:
    return written(stored_run.whole, tmp_path_factory.mktemp("whole"))


@pytest.fixture(scope="session")
def half(tmp_path_factory: pytest.TempPathFactory) -> Written:
    return written(stored_run.half, tmp_path_factory.mktemp("half"))


@pytest.fixture(scope="session")
def failed(tmp_path_factory: pytest.TempPathFactory) -> Written:
    return written(stored_run.failed, tmp_path_factory.mktemp("failed"))
