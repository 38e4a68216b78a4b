"""Daemons do not start while packages are installed, and nothing of that stays."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from drills.lab import commands, install
from drills.lab.errors import LabTimeoutError
from drills.lab.report import Lines, Report


@pytest.fixture
def deny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "policy-rc.d"
    monkeypatch.setattr(install, "DENY", path)
    return path


def test_starts_are_denied_only_while_packages_are_installed(deny: Path) -> None:
    with install._daemons_denied([]):
        assert install.DENIAL == deny.read_text()
        assert 0o755 == deny.stat().st_mode & 0o777
    assert not deny.exists()


def test_starts_are_allowed_again_after_a_failed_install(deny: Path) -> None:
    with pytest.raises(KeyError), install._daemons_denied([]):
        raise KeyError
    assert not deny.exists()


def test_what_the_machine_itself_says_about_starts_stays(deny: Path) -> None:
    deny.write_text("#!/bin/sh\nexit 104\n")
    with install._daemons_denied([]):
        pass
    assert "#!/bin/sh\nexit 104\n" == deny.read_text()


def test_the_denial_of_an_install_that_was_killed_is_removed(deny: Path) -> None:
    deny.write_text(install.DENIAL)
    with install._daemons_denied([]):
        assert deny.exists()
    assert not deny.exists()


def test_a_command_gives_its_code_and_all_it_said() -> None:
    code = "import sys; print('out', flush=True); print('err', file=sys.stderr); sys.exit(3)"
    assert (3, "out\nerr\n") == commands.run([sys.executable, "-c", code], "it is done", 20, Report())


def test_a_command_that_takes_too_long_is_killed_and_its_last_words_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drills.lab.report.QUIET", 0)
    out = io.StringIO()
    code = "import time; print('\\033[31m[INFO] half\\033[0m', flush=True); time.sleep(600)"
    with pytest.raises(LabTimeoutError, match=r"not true within 2 s: it is done \(seen: half\)"):
        commands.run([sys.executable, "-c", code], "it is done", 2, Lines(out))
    assert "waiting until it is done: half" in out.getvalue()
