"""Renders the status page. Names come from strangers: everything is escaped, control characters are shown."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from exporter.log import one_line
from exporter.status import units
from exporter.status.view import View


@cache
def template() -> Template:
    """The one template, compiled once."""
    environment = Environment(
        loader=PackageLoader("exporter"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: one_line(value) if type(value) is str else value,
    )
    environment.filters |= {
        "duration": units.duration,
        "exact_seconds": units.exact_seconds,
        "number": units.number,
        "size": units.size,
        "counted": units.counted,
    }
    return environment.get_template("status.html")


def render(view: View) -> str:
    """The whole page as HTML."""
    return template().render(view=view)
