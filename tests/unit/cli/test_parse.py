"""The command line understands what is meant, and says what is wrong in a line."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporter import VERSION, cli
from exporter.config.quick import Options


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as caught:
        cli.parse(arguments)
    captured = capsys.readouterr()
    return int(caught.value.code or 0), captured.out + captured.err


def test_options_become_a_quick_start() -> None:
    found = cli.parse(
        ["--kafka", "a=h:1", "--kafka", "b=h:2", "--rabbitmq", "http://u@h", "--kafka-property=x=y", "--interval", "5s"]
    )
    assert "serve" == found.command
    assert Options(["a=h:1", "b=h:2"], ["x=y"], ["http://u@h"], None, "5s") == found.options


def test_commands_have_their_own_options() -> None:
    once = cli.parse(["once", "--kafka", "h:1", "--openmetrics", "--match", "mq_.*"])
    assert ("once", True, "mq_.*") == (once.command, once.openmetrics, once.match)
    check = cli.parse(["check-config", "mq.yaml"])
    assert ("check-config", Path("mq.yaml"), False) == (check.command, check.file, check.no_files)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--kafak", "h:1"], "unknown argument '--kafak'; did you mean --kafka?"),
        (["--kafka", "h:1", "once"], "put the command first: mq-exporter once ..."),
        (["chekc-config", "x"], "unknown argument 'chekc-config'; did you mean check-config?"),
        (["--web.listen-addres=:1"], "unknown argument '--web.listen-addres'; did you mean --web.listen-address?"),
        (
            ["--rabbitmq-pasword=hunter2"],
            "unknown argument '--rabbitmq-pasword'; did you mean --rabbitmq-password-file?",
        ),
        (["--qqq"], "unknown argument '--qqq'"),
        (["--kafka"], "argument --kafka: expected one argument"),
        (["--log.level", "loud"], "argument --log.level: invalid choice: 'loud'"),
        (["check-config"], "the following arguments are required: FILE"),
    ],
)
def test_wrong_usage_is_told_in_a_line_with_exit_code_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, text = told(capsys, *arguments)
    assert 2 == code
    assert message in text.splitlines()[0]
    assert "--help" in text.splitlines()[1]
    assert 2 == len(text.splitlines())


def test_no_abbreviations_so_that_a_new_option_breaks_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == told(capsys, "--conf", "x")[0]


def test_help_teaches_by_example(capsys: pytest.CaptureFixture[str]) -> None:
    code, text = told(capsys, "--help")
    assert 0 == code
    for words in (
        "mq-exporter --kafka localhost:9092",
        "check-config",
        "once",
        "SIGHUP",
        "exit codes",
        "this machine only",
    ):
        assert words in text


@pytest.mark.parametrize("command", cli.COMMANDS[1:])
def test_each_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = told(capsys, command, "--help")
    assert (0, True) == (code, text.startswith(f"usage: mq-exporter {command}"))


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert (0, f"mq-exporter {VERSION}\n") == told(capsys, "--version")
