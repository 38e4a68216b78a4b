"""The command line: what may be asked, in words that teach. Running it is `exporter.commands`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import NoReturn

from exporter import VERSION
from exporter.config.quick import KAFKA_PASSWORD_ENV, PASSWORD_ENV, Options

OK, FAILED, USAGE = 0, 1, 2
COMMANDS = ("serve", "once", "check-config", "metrics-doc")
DESCRIPTION = """\
Watches Kafka and RabbitMQ and gives Prometheus what matters: lag, the age of the oldest unread message, dead
letters, disk alarms. It polls in the background, so a scrape never waits for a broker."""
EXAMPLES = f"""\
try it, no file needed:
  mq-exporter --kafka localhost:9092
  mq-exporter --kafka orders=kafka-1:9092,kafka-2:9092 --rabbitmq tasks=http://monitor@rabbit-1:15672
      (the password of RabbitMQ from {PASSWORD_ENV} or --rabbitmq-password-file)
then open http://127.0.0.1:9977/

other commands (each has its own --help):
  mq-exporter once --kafka localhost:9092      poll once, print the page, exit 1 if anything could not be read
  mq-exporter check-config mq.yaml             tell every mistake in a configuration file, with its line
  mq-exporter metrics-doc                      describe every metric, as Markdown

run it for good:
  mq-exporter --config mq.yaml --web.listen-address :9977

signals: SIGHUP reads the configuration file anew; SIGTERM and SIGINT stop within two seconds.
exit codes: 0 stopped as asked, 1 could not listen, 2 wrong usage or configuration."""
ONCE = """\
Polls every cluster once and prints one page on standard output; what could not be read is told on standard error.
Exit codes: 0 everything was read, 1 a collector failed, 2 wrong usage or configuration.

  mq-exporter once --kafka localhost:9092 --match 'mq_kafka_group_.*'"""
CHECK = """\
Tells every mistake in a configuration file at once, each with its line and what to write instead.
Exit codes: 0 the file can be used, 2 it cannot."""


class Parser(argparse.ArgumentParser):
    """Tells what is wrong and where help is, without printing a screenful of usage."""

    def error(self, message: str) -> NoReturn:
        """Exit with code 2."""
        self.exit(USAGE, f"{self.prog}: {message}\ntry: {self.prog} --help\n")

    def known(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Parse all of it, or exit naming what is not known and what is close to it."""
        found, extra = self.parse_known_args(arguments)
        if extra:
            self.error(self._unknown(extra[0]))
        return found

    def _unknown(self, word: str) -> str:
        if word in COMMANDS:
            return f"put the command first: mq-exporter {word} ..."
        known = [*self._option_string_actions, *COMMANDS]
        close = get_close_matches(word.partition("=")[0], known, 1)
        return f"unknown argument {word.partition('=')[0]!r}" + (f"; did you mean {close[0]}?" if close else "")


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The command and its options. Exits with code 2 on wrong usage, with 0 after --help and --version."""
    command, rest = ("serve", list(arguments))
    if rest and rest[0] in COMMANDS:
        command = rest.pop(0)
    found = PARSERS[command]().known(rest)
    found.command = command
    if command in {"serve", "once"}:
        found.options = Options(
            found.kafka, found.kafka_property, found.rabbitmq, found.rabbitmq_password_file, found.interval
        )
    return found


def _parser(prog: str, usage: str, description: str, epilog: str = "") -> Parser:
    raw = argparse.RawDescriptionHelpFormatter
    usage = f"{prog} {usage}"
    return Parser(prog, usage=usage, description=description, epilog=epilog, formatter_class=raw, allow_abbrev=False)


def serve_parser() -> Parser:
    """Options of the exporter itself."""
    parser = _parser("mq-exporter", "[COMMAND] OPTIONS", DESCRIPTION, EXAMPLES)
    _clusters(parser)
    web = parser.add_argument_group("serving")
    web.add_argument(
        "--web.listen-address", dest="listen_address", metavar="ADDRESS",
        help="HOST:PORT to serve on; :9977 for every interface. Default 127.0.0.1:9977, this machine only: the page "
        "names your topics and queues, so opening it to others is for you to decide",
    )  # fmt: skip
    web.add_argument("--web.enable-lifecycle", dest="enable_lifecycle", action="store_true", default=None,
                     help="allow POST /-/reload")  # fmt: skip
    web.add_argument("--web.config.file", dest="web_config_file", metavar="FILE", type=Path,
                     help="Prometheus' own web configuration: TLS and basic authentication")  # fmt: skip
    _log(parser)
    parser.add_argument("--version", action="version", version=f"mq-exporter {VERSION}")
    return parser


def once_parser() -> Parser:
    """Options of one poll."""
    parser = _parser("mq-exporter once", "OPTIONS", ONCE)
    _clusters(parser)
    parser.add_argument("--openmetrics", action="store_true", help="OpenMetrics 1.0.0 instead of text 0.0.4")
    parser.add_argument("--match", metavar="REGEX", help="only the families whose whole name matches")
    _log(parser)
    return parser


def check_parser() -> Parser:
    """Options of judging a file."""
    parser = _parser("mq-exporter check-config", "[--no-files] FILE", CHECK)
    parser.add_argument("file", type=Path, metavar="FILE")
    elsewhere = "do not look for the secrets and certificates that it names: they are on another machine"
    parser.add_argument("--no-files", action="store_true", help=elsewhere)
    return parser


def doc_parser() -> Parser:
    """Options of the generated documentation."""
    what = "Describes every metric, or every configuration key, as Markdown."
    parser = _parser("mq-exporter metrics-doc", "[--configuration] [--write FILE]", what)
    parser.add_argument("--configuration", action="store_true", help="the configuration keys instead of the metrics")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write to this file instead of standard output")
    return parser


def _clusters(parser: Parser) -> None:
    group = parser.add_argument_group("clusters")
    group.add_argument("--config", metavar="FILE", type=Path, help="a YAML file; see docs/configuration.md")
    group.add_argument("--kafka", action="append", default=[], metavar="[NAME=]HOST:PORT[,HOST:PORT]",
                       help="a Kafka cluster, by some of its brokers; may be repeated")  # fmt: skip
    group.add_argument("--kafka-property", action="append", default=[], metavar="NAME=VALUE",
                       help=f"a property of the connection to Kafka, such as security_protocol=SSL; "
                       f"the SASL password comes from {KAFKA_PASSWORD_ENV}")  # fmt: skip
    group.add_argument("--rabbitmq", action="append", default=[], metavar="[NAME=]http://USER@HOST:15672",
                       help=f"a RabbitMQ cluster, by the management URL of a node; may be repeated. The password "
                       f"comes from {PASSWORD_ENV} or --rabbitmq-password-file; one in the URL is refused, "
                       f"since every user of this machine would see it")  # fmt: skip
    group.add_argument("--rabbitmq-password-file", metavar="FILE", type=Path,
                       help="a file that holds the password of RabbitMQ")  # fmt: skip
    group.add_argument("--interval", metavar="TIME", help="time between two polls, such as 30s; default 15s")


def _log(parser: Parser) -> None:
    group = parser.add_argument_group("log, on standard error")
    group.add_argument("--log.level", dest="log_level", choices=("debug", "info", "warning", "error"))
    group.add_argument("--log.format", dest="log_format", choices=("text", "json"))


PARSERS = {"serve": serve_parser, "once": once_parser, "check-config": check_parser, "metrics-doc": doc_parser}


def fail(message: str, code: int = USAGE) -> int:
    """Tell why on standard error; gives the exit code."""
    sys.stderr.write(f"mq-exporter: {message}\n")
    return code
