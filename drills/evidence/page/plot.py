"""Plots as SVG inside the page: colours come from its style sheet, so that they follow light, dark and paper."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from markupsafe import Markup

from drills.evidence.visible import visible

WIDTH, LEFT, RIGHT = 760, 64, 14
STRIP, PANEL, GAP, AXIS = 34, 92, 26, 22
ROW = 22  # height of a case in the overview
TICKS = 6


@dataclass(frozen=True, slots=True)
class Span:
    """Something that lasted. Seconds since the run began; `kind` is a class of the style sheet."""

    began: float
    ended: float
    text: str
    kind: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment with a number by which the list below the plot tells what it was."""

    at: float
    number: int
    kind: str


@dataclass(frozen=True, slots=True)
class Line:
    """A series: its name, and (seconds, value) in order; None breaks the line, for what could not be read."""

    name: str
    points: Sequence[tuple[float, float | None]]


@dataclass(frozen=True, slots=True)
class Panel:
    """Lines that share a measure. `unit` stands beside its name."""

    title: str
    unit: str
    lines: Sequence[Line]


@dataclass(frozen=True, slots=True)
class Scale:
    """Seconds to pixels."""

    began: float
    ended: float

    def x(self, second: float) -> float:
        """Where a second is, inside the picture also for one outside of it."""
        inside = min(max(second, self.began), self.ended)
        return LEFT + (WIDTH - LEFT - RIGHT) * (inside - self.began) / max(self.ended - self.began, 1e-9)


def case_plot(
    title: str,
    scale: Scale,
    phases: Iterable[Span],
    faults: Iterable[Span],
    marks: Iterable[Mark],
    panels: Sequence[Panel],
) -> Markup:
    """One case: its phases on top, its measures below, faults shaded and moments marked across all of them."""
    height = STRIP + len(panels) * (PANEL + GAP) + AXIS + 16
    bottom = height - AXIS
    parts = [_open(title, height)]
    parts += [_shade(scale, one, 16, bottom) for one in faults]
    parts += [part for one in phases for part in _band(scale, one, 18, 14)]
    for number, panel in enumerate(panels):
        parts += _panel(panel, scale, STRIP + 16 + number * (PANEL + GAP))
    taken = 0.0
    for mark in marks:
        taken = max(scale.x(mark.at), taken + 16)  # numbers stand beside each other where moments fall together
        parts += _mark(scale, mark, taken, bottom)
    return Markup("\n").join([*parts, *_axis(scale, bottom), Markup("</svg>")])


def overview(title: str, scale: Scale, rows: Sequence[tuple[str, Sequence[Span]]]) -> Markup:
    """The whole run: a row for each case, with its phases and its faults."""
    height = len(rows) * ROW + AXIS + 8
    parts = [_open(title, height)]
    for number, (name, spans) in enumerate(rows):
        top = 4 + number * ROW
        parts.append(Markup('<line class="grid" x1="0" x2="{}" y1="{y}" y2="{y}"/>').format(WIDTH, y=top + ROW - 2))
        for one in spans:
            parts += _band(scale, one, top + (13 if one.kind == "fault" else 2), 4 if one.kind == "fault" else 11)
        first = min((one.began for one in spans), default=scale.began)
        parts.append(_row_name(scale, name, first, max((one.ended for one in spans), default=first), top + 12))
    return Markup("\n").join([*parts, *_axis(scale, height - AXIS), Markup("</svg>")])


def _row_name(scale: Scale, name: str, began: float, ended: float, y: float) -> Markup:
    """The name beside its bar, on the side that has room."""
    right = scale.x(ended) < WIDTH * 0.72
    x, anchor = (scale.x(ended) + 6, "start") if right else (scale.x(began) - 6, "end")
    return Markup('<text class="name" x="{:.1f}" y="{}" text-anchor="{}">{}</text>').format(x, y, anchor, visible(name))


def _open(title: str, height: int) -> Markup:
    return Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}">').format(WIDTH, height, visible(title))


def _shade(scale: Scale, one: Span, top: int, bottom: int) -> Markup:
    x, wide = scale.x(one.began), max(scale.x(one.ended) - scale.x(one.began), 2)
    return Markup(
        '<rect class="shade {}" x="{:.1f}" y="{}" width="{:.1f}" height="{}"><title>{}</title></rect>'
    ).format(one.kind, x, top, wide, bottom - top, visible(one.text))


def _band(scale: Scale, one: Span, top: float, tall: float) -> list[Markup]:
    x, wide = scale.x(one.began), max(scale.x(one.ended) - scale.x(one.began), 1.5)
    shape = Markup('<rect class="band {}" x="{:.1f}" y="{}" width="{:.1f}" height="{}"><title>{}</title></rect>')
    parts = [shape.format(one.kind, x, top, wide, tall, visible(one.text))]
    if wide > 6 * len(one.text) and tall >= 12:
        name = Markup('<text class="in" x="{:.1f}" y="{}" text-anchor="middle">{}</text>')
        parts.append(name.format(x + wide / 2, top + tall - 3.5, one.text))
    return parts


def _mark(scale: Scale, mark: Mark, number_x: float, bottom: int) -> list[Markup]:
    x = scale.x(mark.at)
    return [
        Markup('<line class="mark {}" x1="{x:.1f}" x2="{x:.1f}" y1="16" y2="{}"/>').format(mark.kind, bottom, x=x),
        Markup('<circle class="mark {}" cx="{:.1f}" cy="8" r="7.5"/>').format(mark.kind, number_x),
        Markup('<text class="digit" x="{:.1f}" y="11.5" text-anchor="middle">{}</text>').format(number_x, mark.number),
    ]


def _panel(panel: Panel, scale: Scale, top: int) -> list[Markup]:
    known = [value for line in panel.lines for _, value in line.points if value is not None]
    most = _round_up(max(known, default=0.0))
    base = top + PANEL
    parts = [
        Markup('<text class="title" x="{}" y="{}">{}<tspan class="soft"> {}</tspan></text>').format(
            LEFT, top + 2, panel.title, panel.unit
        )
    ]
    for share in (0.0, 0.5, 1.0):
        y = base - share * (PANEL - 12)
        parts.append(
            Markup('<line class="grid" x1="{}" x2="{}" y1="{y:.1f}" y2="{y:.1f}"/>').format(LEFT, WIDTH - RIGHT, y=y)
        )
        parts.append(
            Markup('<text class="soft" x="{}" y="{:.1f}" text-anchor="end">{:g}</text>').format(
                LEFT - 6, y + 4, most * share
            )
        )
    legend: float = WIDTH - RIGHT
    for number, line in reversed(list(enumerate(panel.lines))):
        parts.append(
            Markup('<text class="key l{}" x="{:.1f}" y="{}" text-anchor="end">{}</text>').format(
                number % 4, legend, top + 2, line.name
            )
        )
        legend -= 6.6 * len(line.name) + 14
    return parts + [
        part for number, line in enumerate(panel.lines) for part in _curve(line, number % 4, scale, base, most)
    ]


def _curve(line: Line, number: int, scale: Scale, base: int, most: float) -> Iterable[Markup]:
    """A path that is broken where nothing is known, with a dot at each value that was read."""
    path, pen = [], "M"
    for second, value in line.points:
        if value is None:
            pen = "M"
            continue
        x, y = scale.x(second), base - (PANEL - 12) * value / most
        path.append(f"{pen}{x:.1f} {y:.1f}")
        pen = "L"
        if len(line.points) <= 90:
            yield Markup('<circle class="dot l{}" cx="{:.1f}" cy="{:.1f}" r="1.9"/>').format(number, x, y)
    yield Markup('<path class="line l{}" d="{}"/>').format(number, " ".join(path))


def _axis(scale: Scale, y: int) -> Iterable[Markup]:
    step = _round_up((scale.ended - scale.began) / TICKS)
    first = ceil(scale.began / step)
    for number in range(first, floor(scale.ended / step) + 1):
        second = number * step
        yield Markup('<text class="soft" x="{:.1f}" y="{}" text-anchor="middle">{:g} s</text>').format(
            scale.x(second), y + 15, round(second, 6)
        )


def _round_up(value: float) -> float:
    """The next 1, 2, 2.5, 5 or 10 times a power of ten."""
    if value <= 0:
        return 1.0
    power: float = 10.0 ** (ceil(log10(value)) - 1)
    return next(step * power for step in (1, 2, 2.5, 5, 10) if value <= step * power * 1.0001)
