"""The commands of `mq-drill` beside `lab`, one file each: `add_parser(commands)` adds it to the command line."""

from __future__ import annotations

import argparse
import importlib
import pkgutil


def add_parsers(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds every command of this package, in the order of their `ORDER`."""
    modules = [importlib.import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__)]
    for module in sorted(modules, key=lambda module: getattr(module, "ORDER", 100)):
        module.add_parser(commands)
