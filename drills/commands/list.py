"""`mq-drill list`: the drills there are."""

from __future__ import annotations

import argparse

from drills.engine import catalog

ORDER = 10


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    text = "the drills there are, and the question that each answers"
    commands.add_parser("list", help=text, description=text).set_defaults(run=_list)


def _list(arguments: argparse.Namespace) -> int:
    found = catalog.drills(arguments.catalog)
    for drill in found.values():
        systems = ", ".join(drill.systems) or "no broker"
        print(f"{drill.name:16} {len(drill.criteria)} criteria, {systems}\n{'':16} {drill.question}")
    if not found:
        print("no drill")
    return 0
