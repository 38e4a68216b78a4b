"""A cache and a lab folder of the test's own, and ports that no lab takes."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MQOPS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("MQOPS_LAB_DIR", str(tmp_path / "labs"))
    monkeypatch.setenv("MQOPS_LAB_PORTS", "17000-17999")
    return tmp_path
