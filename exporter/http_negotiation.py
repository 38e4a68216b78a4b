"""Which format and which encoding a client prefers: Accept and Accept-Encoding with their q values (RFC 9110, 12.5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from exporter.page import Format

OFFERS = {
    Format.TEXT: ("text/plain", "0.0.4"),
    Format.OPENMETRICS: ("application/openmetrics-text", "1.0.0"),
}


@dataclass(frozen=True, slots=True)
class Wish:
    """One item of an Accept header: what, with which parameters (without q), how much (0 to 1)."""

    what: str
    parameters: dict[str, str]
    quality: float


def wishes(header: str) -> Iterator[Wish]:
    """The items of an Accept or Accept-Encoding header; an unreadable q counts as 0."""
    for item in header.split(","):
        what, *rest = (part.strip() for part in item.split(";"))
        parameters = {
            name.strip().lower(): value.strip(' "') for name, _, value in (part.partition("=") for part in rest)
        }
        quality = parameters.pop("q", "1")
        if what:
            yield Wish(what.lower(), parameters, _number(quality))


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if 0 <= value <= 1 else 0.0


def page_format(accept: str) -> Format:
    """The preferred format of the page; plain text where the client is indifferent or wants neither."""
    listed = list(wishes(accept))
    return max(OFFERS, key=lambda form: _wanted(form, listed))


def _wanted(form: Format, listed: list[Wish]) -> float:
    """How much a format is wanted, by the most specific item that covers it."""
    kind, version = OFFERS[form]
    best = (0, 0.0)
    for wish in listed:
        fits = wish.parameters.get("version", version) == version
        if wish.what == kind and fits:
            best = max(best, (4 if "version" in wish.parameters else 3, wish.quality))
        elif wish.what == kind.partition("/")[0] + "/*":
            best = max(best, (2, wish.quality))
        elif wish.what == "*/*":
            best = max(best, (1, wish.quality))
    return best[1]


def wants_gzip(accept_encoding: str) -> bool:
    """Whether gzip is acceptable, and not less welcome than no encoding at all."""
    found = {wish.what: wish.quality for wish in wishes(accept_encoding)}
    gzip = found.get("gzip", found.get("x-gzip", found.get("*", 0.0)))
    return gzip > 0 and gzip >= found.get("identity", 0.0)
