"""The commands `mq-drill lab ...`."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from drills.lab import install, rabbitmq_config, record, versions
from drills.lab.errors import LabError
from drills.lab.instance import UP, Lab, NodeStatus, lab_names, take_down
from drills.lab.keys import SECURE
from drills.lab.node import Node
from drills.lab.record import SYSTEMS, Settings
from drills.lab.report import report_to

ABOUT = """\
Local clusters, real ones, all on 127.0.0.1. A lab has a name, a folder (~/.cache/mqops/lab/NAME, or
$MQOPS_LAB_DIR/NAME) and 100 ports of its own, so several run side by side. What is missing on a Debian machine is
installed (as root or by sudo) without its daemons being started.

Nodes: kafka-1 to 3 (broker ids 1 to 3), kafka-controller-1 to 3 (ids 101 to 103), rabbitmq-1 to 3, prometheus,
alertmanager.
Every node command returns when the new state is true: gone means process and ports are gone, started means it serves.
"""
EXIT = """\
exit codes: 0 done (status: all nodes serve); 1 it failed, or only some nodes serve; 2 wrong usage; 3 no node serves
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds `lab` and its commands to a command line."""
    raw = argparse.RawDescriptionHelpFormatter
    lab = commands.add_parser("lab", help="local clusters", description=ABOUT, epilog=EXIT, formatter_class=raw)
    parsers = lab.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def command(name: str, run: Callable[[argparse.Namespace], int], text: str, *names: str) -> argparse.ArgumentParser:
        added = parsers.add_parser(name, help=text, description=text)
        for one in names:
            added.add_argument(one, metavar=one.upper())
        added.set_defaults(run=run)
        return added

    _add_up(
        command("up", _up, "make a lab, or repair or complete the one there is; returns when everything serves", "name")
    )
    status = command("status", _status, "what runs and on which ports; all labs when no name is given")
    status.add_argument("name", metavar="NAME", nargs="?")
    command("list", _list, "names of the labs there are")
    down = command("down", _down, "end labs, whatever state they are in, and remove all of them")
    down.add_argument("names", metavar="NAME", nargs="*")
    down.add_argument("--all", action="store_true", help="every lab in this lab folder")
    stop = command("stop", _stop, "end a node cleanly; without NODE all of them, brokers before controllers", "name")
    stop.add_argument("node", metavar="NODE", nargs="?")
    command("kill", _on(lambda node: node.kill()), "end a node with SIGKILL", "name", "node")
    command(
        "pause",
        _on(lambda node: node.pause()),
        "freeze a node (SIGSTOP): its connections stay, it answers nothing",
        "name",
        "node",
    )
    command("resume", _on(lambda node: node.resume()), "thaw a node; returns when it answers again", "name", "node")
    command("start", _on(lambda node: node.start()), "start (or thaw) a node; returns when it serves", "name", "node")
    disk = command(
        "disk-limit",
        _disk_limit,
        "set a RabbitMQ node's free-disk limit; above what is free is an alarm",
        "name",
        "node",
    )
    disk.add_argument("limit", metavar="BYTES|restore", type=_limit)
    env = command("env", _env, "addresses of a lab, as shell variables or as JSON", "name")
    env.add_argument("--json", action="store_true")
    ctl = command("rabbitmqctl", _ctl, "run rabbitmqctl on a node of a lab", "name", "node")
    ctl.add_argument("arguments", metavar="ARGUMENT", nargs=argparse.REMAINDER)
    only = command("install", _install, "install what a lab needs, and start nothing")
    only.add_argument("--only", metavar="SYSTEMS", type=_names)
    _add_versions(only)


def _add_versions(parser: argparse.ArgumentParser) -> None:
    default = Settings()
    for product, text in {
        "kafka": "a version on Maven Central, such as 3.9.2",
        "rabbitmq": "a series: this machine's own, or 4.0 (Debian trixie) or 4.3 (Debian sid), which need root",
        "prometheus": "a series: this machine's own, or 3 (Debian sid), with the Alertmanager of the same suite",
    }.items():
        usual = getattr(default, f"{product}_version")
        parser.add_argument(
            f"--{product}",
            metavar="VERSION",
            type=partial(_version, product),
            help=f"{text} (default: {usual})",
        )


def _add_up(parser: argparse.ArgumentParser) -> None:
    default = Settings()
    _add_versions(parser)
    parser.add_argument("--only", metavar="SYSTEMS", type=_names, help=f"some of {','.join(SYSTEMS)} (default: all)")
    parser.add_argument(
        "--tmpfs",
        metavar="NODE=SIZE",
        action="append",
        type=_tmpfs,
        default=[],
        help="put a Kafka broker's second log directory, or a RabbitMQ node's data, on a tmpfs of this size (such as "
        "kafka-1=60m) so that its disk can be really full; needs root; only when the lab is made",
    )
    parser.add_argument(
        "--profile",
        choices=("plain", SECURE),
        default=default.profile,
        help="secure: TLS, logins and rights everywhere; `mq-drill lab env NAME` says where the files for clients are; "
        "only when the lab is made (default: %(default)s)",
    )
    parser.add_argument(
        "--net-ticktime",
        metavar="SECONDS",
        type=int,
        default=default.net_ticktime,
        help="RabbitMQ calls a silent peer dead after about this long (default: %(default)s)",
    )
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=float,
        default=UP,
        help="deadline, downloads not counted (default: %(default)s)",
    )


def _up(arguments: argparse.Namespace) -> int:
    settings = replace(_versions(arguments), profile=arguments.profile, net_ticktime=arguments.net_ticktime)
    report = report_to(sys.stderr)
    lab = Lab.up(
        arguments.name,
        arguments.only,
        tmpfs=dict(arguments.tmpfs),
        settings=settings if settings != Settings() or _asked_versions(arguments) else None,
        report=report,
        seconds=arguments.timeout,
    )
    report.say(f"{lab.name} serves; see `mq-drill lab status {lab.name}`, end it with `mq-drill lab down {lab.name}`")
    return 0


def _status(arguments: argparse.Namespace) -> int:
    names = [arguments.name] if arguments.name else lab_names()
    seen = [status for name in names for status in _show(name)]
    if not seen:
        print("no lab")
        return 3
    serving = [status for status in seen if status.condition == "serving"]
    return 0 if len(serving) == len(seen) else 1 if serving else 3


def _show(name: str) -> list[NodeStatus]:
    lab = Lab.open(name)
    print(f"{name}  {lab.folder}")
    found = lab.status()
    for node in found:
        size = f"{node.resident_bytes / 2**20:.0f} MiB" if node.resident_bytes is not None else ""
        where = " ".join(f"{purpose}={port}" for purpose, port in node.listens.items())
        print(f"  {node.name:19} {node.condition:9} {node.pid or '':>8} {size:>9}  {where}")
    return found


def _list(_: argparse.Namespace) -> int:
    print("\n".join(lab_names()) or "no lab")
    return 0


def _down(arguments: argparse.Namespace) -> int:
    if bool(arguments.names) == arguments.all:
        raise LabError("down needs the names of labs, or --all")
    for name in lab_names() if arguments.all else arguments.names:
        if not take_down(name, report_to(sys.stderr)):
            print(f"there is no lab {name!r}")
    return 0


def _stop(arguments: argparse.Namespace) -> int:
    lab = Lab.open(arguments.name, report_to(sys.stderr))
    if arguments.node is None:
        lab.stop()
        return 0
    lab.node(arguments.node).stop()
    return _say(lab, arguments.node)


def _on(change: Callable[[Node], None]) -> Callable[[argparse.Namespace], int]:
    def run(arguments: argparse.Namespace) -> int:
        lab = Lab.open(arguments.name, report_to(sys.stderr))
        change(lab.node(arguments.node))
        return _say(lab, arguments.node)

    return run


def _say(lab: Lab, node: str) -> int:
    print(f"{node}: {lab.node(node).condition()}")
    return 0


def _disk_limit(arguments: argparse.Namespace) -> int:
    node = Lab.open(arguments.name).rabbit_node(arguments.node)
    limit = rabbitmq_config.DISK_LIMIT if arguments.limit is None else arguments.limit
    node.set_disk_limit(limit)
    print(f"{node.name}: free-disk limit {limit} bytes")
    return 0


def _env(arguments: argparse.Namespace) -> int:
    addresses = Lab.open(arguments.name).addresses()
    if arguments.json:
        print(json.dumps(addresses, indent=1))
        return 0
    for system, found in addresses.items():
        for key, value in found.items() if isinstance(found, dict) else [("", found)]:
            text = (
                ",".join(value) if isinstance(value, list) else value if isinstance(value, str) else json.dumps(value)
            )
            print(f"export MQ_{'_'.join(filter(None, (system, key))).upper()}={shlex.quote(text)}")
    return 0


def _ctl(arguments: argparse.Namespace) -> int:
    print(Lab.open(arguments.name).rabbit_node(arguments.node).ctl(*arguments.arguments))
    return 0


def _install(arguments: argparse.Namespace) -> int:
    install.ensure(arguments.only or (*record.SYSTEMS, "postgresql"), _versions(arguments), report_to(sys.stderr))
    return 0


def _versions(arguments: argparse.Namespace) -> Settings:
    return replace(Settings(), **_asked_versions(arguments))


def _asked_versions(arguments: argparse.Namespace) -> dict[str, Any]:
    asked = {f"{product}_version": getattr(arguments, product) for product in ("kafka", "rabbitmq", "prometheus")}
    return {field: version for field, version in asked.items() if version is not None}


def _version(product: str, text: str) -> str:
    try:
        return versions.check_text(product, text)
    except LabError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _names(text: str) -> list[str]:
    names = text.split(",")
    if unknown := sorted(set(names) - set(SYSTEMS)):
        raise argparse.ArgumentTypeError(f"unknown system {', '.join(unknown)}; choose from {','.join(SYSTEMS)}")
    return names


def _tmpfs(text: str) -> tuple[str, str]:
    node, equals, size = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"expected NODE=SIZE, such as kafka-1=60m, got {text!r}")
    return node, size


def _limit(text: str) -> int | None:
    if text == "restore":
        return None
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"expected a number of bytes or `restore`, got {text!r}")
    return int(text)


def fail(error: LabError) -> int:
    """Prints an error for a person; the exit code."""
    print(f"mq-drill: {error}", file=sys.stderr)
    return 1


def interrupted() -> int:
    """Tells a person who pressed Ctrl-C what is left; the exit code."""
    advice = "see `mq-drill lab status`, end it with `mq-drill lab down NAME`"
    print(f"\nmq-drill: interrupted; what was started goes on: {advice}", file=sys.stderr)
    return 130
