"""Which suite a version is taken from, and what a person is told when it can't be had."""

from __future__ import annotations

import argparse
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from drills.cli import main
from drills.lab import chroots, cli, install, places, versions
from drills.lab.errors import LabError, RefusedError
from drills.lab.record import Settings
from drills.lab.report import Report

OWN = {"rabbitmq": "3.10.8", "prometheus": "2.42.0"}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache, and labs, of the test alone."""
    monkeypatch.setenv("MQOPS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("MQOPS_LAB_DIR", str(tmp_path / "labs"))
    return tmp_path / "cache"


def suite(name: str) -> chroots.Suite:
    return next(one for one in chroots.SUITES if one.name == name)


def chosen(product: str, asked: str, own: str | None, machine: str | None = None, **fetched: str | None) -> str | None:
    found = versions.choose(product, asked, own, machine, fetched)
    return found.name if found else None


@pytest.mark.parametrize(
    ("asked", "found", "wanted"),
    [
        ("4.0", "4.0.5", True), ("4", "4.0.5", True), ("4.0.5", "4.0.5", True),
        ("4.0", "4.1.0", False), ("4.0", "4.0", True), ("4.1", "4.10.1", False), ("4.0.5", "4.0", False),
    ],
)  # fmt: skip
def test_a_version_is_of_a_series_by_its_numbers(asked: str, found: str, wanted: bool) -> None:
    assert wanted is versions.matches(asked, found)


@pytest.mark.parametrize(
    ("product", "asked", "wanted"),
    [
        ("rabbitmq", "3.10", None), ("rabbitmq", "3.10.8", None), ("rabbitmq", "4.0", "trixie"),
        ("rabbitmq", "4.0.5", "trixie"), ("rabbitmq", "4.3", "sid"),
        ("prometheus", "2.42", None), ("prometheus", "2", None), ("prometheus", "3", "sid"),
        ("prometheus", "3.5", "sid"),
    ],
)  # fmt: skip
def test_the_machines_own_version_is_used_where_it_is_the_one(product: str, asked: str, wanted: str | None) -> None:
    assert wanted == chosen(product, asked, OWN[product], "bookworm")


def test_a_fresh_machine_installs_what_its_own_suite_has() -> None:
    assert None is chosen("rabbitmq", "3.10", None, "bookworm")
    assert "bookworm" == chosen("rabbitmq", "3.10", None, "trixie")
    assert None is chosen("rabbitmq", "4.0", None, "trixie")


def test_a_newer_machine_takes_the_older_version_from_its_suite() -> None:
    assert "bookworm" == chosen("rabbitmq", "3.10", "4.0.5", "trixie")


def test_what_is_in_the_cache_already_is_used_whatever_its_suite_was_known_for() -> None:
    assert "sid" == chosen("rabbitmq", "4.5", "3.10.8", "bookworm", sid="4.5.1")


def test_a_suite_that_has_moved_on_is_named_with_what_it_has_now(cache: Path) -> None:
    folder = chroots.folder(suite("sid"))
    with pytest.raises(LabError) as caught:
        chosen("rabbitmq", "4.3", "3.10.8", "bookworm", sid="4.5.1")
    assert (
        f"Debian sid, as fetched into {folder}, has RabbitMQ 4.5.1, and 4.3 was asked for. Suites move: "
        "ask for --rabbitmq 4.5; when the folder is old and the suite has the version by now, remove the folder, "
        "and it is fetched again"
    ) == str(caught.value)


def test_a_version_that_nobody_has_is_told_with_those_there_are() -> None:
    with pytest.raises(LabError) as caught:
        chosen("rabbitmq", "3.13", "3.10.8", "bookworm")
    assert (
        "RabbitMQ 3.13 is not known to be had here; this machine has 3.10.8. "
        "Choose from 3.10 (Debian bookworm), 4.0 (Debian trixie), 4.3 (Debian sid)"
    ) == str(caught.value)


@pytest.mark.parametrize(("product", "text"), [("rabbitmq", "latest"), ("prometheus", "3.x"), ("kafka", "3.9")])
def test_what_is_no_version_is_refused_at_once(product: str, text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=f"'{text}' is not a version of .*such as"):
        cli._version(product, text)


def fake_chroot(name: str, rabbitmq: str) -> Path:
    root = chroots.folder(suite(name))
    (root / "usr/lib/rabbitmq/lib" / f"rabbitmq_server-{rabbitmq}").mkdir(parents=True)
    return root


def test_programs_of_a_chroot_are_entered_in_a_mount_namespace_of_their_own(cache: Path) -> None:
    root = fake_chroot("trixie", "4.0.5")
    found = versions.locate("rabbitmq", "4.0")
    assert versions.Programs(root, "4.0.5") == found
    enter = ["unshare", "--mount", "--propagation", "slave", "sh", str(chroots.ENTER), str(root), str(places.labs())]
    assert [*enter, "epmd"] == found.command("epmd")


def test_what_was_fetched_is_checked_against_what_was_asked(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The suite has moved by the time it is fetched."""
    monkeypatch.setattr(install, "packages", lambda *_: None)
    monkeypatch.setattr(chroots, "ensure", lambda *_: fake_chroot("sid", "4.5.1"))
    with pytest.raises(LabError, match=r"has RabbitMQ 4\.5\.1, and 4\.3 was asked for.*ask for --rabbitmq 4\.5"):
        install.ensure(["rabbitmq"], Settings(rabbitmq_version="4.3"), Report())


def test_a_version_that_is_not_there_yet_says_how_to_get_it(cache: Path) -> None:
    with pytest.raises(LabError, match=r"not installed: run `mq-drill lab install --rabbitmq 4\.3`"):
        versions.locate("rabbitmq", "4.3")


def test_without_root_a_chroot_is_refused(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(RefusedError, match="run in a chroot, which only root may enter: run as root"):
        chroots.ensure(suite("trixie"), Report())


def test_without_the_right_to_mount_a_chroot_is_refused(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(chroots, "PRIVATE", ("sh", "-c", "echo 'unshare failed: Operation not permitted' >&2; exit 1"))
    with pytest.raises(RefusedError, match=r"does not let us mount \(unshare failed: Operation not permitted\)"):
        chroots.ensure(suite("trixie"), Report())


def test_a_half_made_chroot_is_thrown_away_and_begun_again(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = chroots.folder(suite("trixie"))
    left = target.with_name(f".{target.name}.4711")
    (left / "etc/apt").mkdir(parents=True)

    def fetch(_: chroots.Suite, fresh: Path, __: Report) -> None:
        assert not left.exists()
        (fresh / "etc/apt").mkdir(parents=True)
        (fresh / "etc/apt/sources.list").write_text("deb http://mirror.example/debian trixie main\n")
        (fresh / "var/lib/apt/lists").mkdir(parents=True)

    monkeypatch.setattr(chroots, "check_rights", lambda _: None)
    monkeypatch.setattr(chroots, "_fetch", fetch)
    assert target == chroots.ensure(suite("trixie"), Report())
    files = {str(path.relative_to(target)): path.read_text() for path in target.rglob("*") if path.is_file()}
    assert {"etc/hosts": "127.0.0.1 localhost\n::1 localhost\n"} == files
    monkeypatch.setattr(chroots, "_fetch", lambda *_: pytest.fail("fetched twice"))
    assert target == chroots.ensure(suite("trixie"), Report())


def test_a_fetch_that_fails_leaves_nothing(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chroots, "check_rights", lambda _: None)
    monkeypatch.setattr(chroots, "mirror", lambda: "http://mirror.example/debian")
    monkeypatch.setattr(chroots.commands, "run", lambda *_: (1, "I: Retrieving\nE: Failed getting release file"))
    with pytest.raises(LabError, match=r"(?s)trixie failed \(1\); does your mirror.*E: Failed getting release file"):
        chroots.ensure(suite("trixie"), Report())
    assert [f"{chroots.folder(suite('trixie')).name}.lock"] == [path.name for path in cache.iterdir()]


def test_a_machine_whose_apt_names_no_debian_keeps_to_its_own_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = subprocess.CompletedProcess([], 0, stdout="", stderr="")
    monkeypatch.setattr(chroots.subprocess, "run", lambda *_, **__: nothing)
    with pytest.raises(LabError, match="apt's sources name no mirror of Debian"):
        chroots.mirror()


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ([], None),
        (["--prometheus", "2.42"], Settings()),
        (["--kafka", "3.9.2", "--rabbitmq", "4.3"], Settings(kafka_version="3.9.2", rabbitmq_version="4.3")),
    ],
)
def test_what_is_asked_for_is_compared_with_a_lab_that_exists_and_silence_is_not(
    options: list[str], wanted: Settings | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Settings | None] = []

    def up(name: str, *_: object, settings: Settings | None, **__: object) -> SimpleNamespace:
        seen.append(settings)
        return SimpleNamespace(name=name)

    monkeypatch.setattr(cli.Lab, "up", up)
    assert 0 == main(["lab", "up", "demo", *options])
    assert [wanted] == seen
