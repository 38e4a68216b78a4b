"""Commands in this process: exit codes, what goes where."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics

from exporter import cli
from exporter.commands import check_config, configured, once, serve
from exporter.model.common import Kind, Problem
from tests.unit.server.served import TIMEOUT, FakeReader, snapshot

BAD = Path(__file__).parents[1] / "config/bad"
GOOD = Path(__file__).parents[3] / "examples/mq-exporter.yaml"
Run = Callable[[argparse.Namespace], int]


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes every reader give a snapshot with these problems."""

    def set_up(*problems: Problem) -> None:
        monkeypatch.setattr(once, "readers", lambda section: FakeReader(lambda: snapshot(section.cluster, *problems)))

    return set_up


def run(command: Run, *arguments: str) -> int:
    return command(cli.parse(arguments))


def test_a_good_file_is_fine(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == run(check_config.run, "check-config", str(GOOD))
    assert f"{GOOD} is fine: 2 clusters (kafka/orders, rabbitmq/tasks)\n" == capsys.readouterr().out


def test_a_bad_file_has_all_its_mistakes_told(capsys: pytest.CaptureFixture[str]) -> None:
    file = BAD / "many.yaml"
    assert 2 == run(check_config.run, "check-config", str(file))
    lines = capsys.readouterr().out.splitlines()
    assert [4, 5, 6, 8, 9, 11] == [int(line.removeprefix(f"{file}:").split(":")[0]) for line in lines[:-1]]
    assert f"6 mistakes in {file}" == lines[-1]


def test_secrets_that_are_on_another_machine_need_not_be_there() -> None:
    file = str(BAD / "secret-file-missing.yaml")
    assert (2, 0) == (
        run(check_config.run, "check-config", file),
        run(check_config.run, "check-config", "--no-files", file),
    )


def test_once_prints_the_page_and_succeeds(reads: Any, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    reads()
    assert 0 == run(once.run, "once", "--kafka", "h:1", "--openmetrics")
    captured = capsysbinary.readouterr()
    names = [family.name for family in parse_openmetrics(captured.out.decode())]
    assert "mq_dlq_unhandled_messages" in names
    assert b"" == captured.err


def test_once_fails_when_a_collector_did_and_tells_why(reads: Any, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    reads(TIMEOUT)
    assert 1 == run(once.run, "once", "--kafka", "h:1")
    captured = capsysbinary.readouterr()
    assert b"kafka/kafka: broker 2: no answer within 5 s (topics: timeout)\n" == captured.err
    assert b"mq_dlq_unhandled_messages" in captured.out


def test_names_on_standard_error_stay_on_their_line(reads: Any, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    reads(Problem(Kind.TIMEOUT, "group a\nb", "no answer\x1b[2J"))
    run(once.run, "once", "--kafka", "h:1")
    assert rb"kafka/kafka: group a\nb: no answer\x1b[2J (topics: timeout)" == capsysbinary.readouterr().err.rstrip(
        b"\n"
    )


def test_once_shows_only_what_matches(reads: Any, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    reads()
    assert 0 == run(once.run, "once", "--kafka", "h:1", "--match", "mq_disk_.*", "--openmetrics")
    out = capsysbinary.readouterr().out.decode()
    assert {"mq_disk_free_bytes", "mq_disk_free_limit_bytes", "mq_disk_alarm"} == {
        f.name for f in parse_openmetrics(out)
    }


def test_once_tells_a_pattern_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == run(once.run, "once", "--kafka", "h:1", "--match", "(")
    assert "mq-exporter: --match: '(' is not a regular expression" in capsys.readouterr().err


@pytest.mark.parametrize("command", [once.run, serve.run])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "command line: no cluster to watch: give --kafka HOST:PORT, --rabbitmq URL or --config FILE"),
        (
            ["--config", "mq.yaml", "--kafka", "h:1"],
            "command line: give either --config or --kafka: clusters of a file ",
        ),
        (["--config", "/no/such.yaml"], "/no/such.yaml: there is no file /no/such.yaml"),
        (["--config", str(BAD / "unknown-key.yaml")], "unknown key; did you mean `interval`?"),
    ],
)
def test_a_wrong_configuration_is_told_with_exit_code_2(
    command: Run, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["once", *arguments] if command is once.run else arguments
    assert 2 == run(command, *words)
    assert message in capsys.readouterr().err


def test_a_wrong_listen_address_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == run(serve.run, "--kafka", "h:1", "--web.listen-address", "9977")
    assert capsys.readouterr().err.startswith("--web.listen-address: expected HOST:PORT, [IPV6]:PORT or :PORT")


def test_the_command_line_wins_over_the_file() -> None:
    flags = ["--web.listen-address", ":1", "--web.enable-lifecycle", "--log.level", "error", "--log.format", "json"]
    config = configured.loader(cli.parse(["--config", str(GOOD), *flags]))()
    assert (":1", True, "error", "json") == (
        config.web.listen_address, config.web.enable_lifecycle, config.log.level, config.log.format,
    )  # fmt: skip
    plain = configured.loader(cli.parse(["--config", str(GOOD)]))()
    assert ("127.0.0.1:9977", False) == (plain.web.listen_address, plain.web.enable_lifecycle)


def test_a_password_on_the_command_line_is_never_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    for url in ("ftp://u:hunter2@h", "http://u:hunter2@h:x", "http://u:hunter2@"):
        assert 2 == run(once.run, "once", "--rabbitmq", url)
    captured = capsys.readouterr()
    assert not re.search("hunter2", captured.out + captured.err)
