"""The run as a picture: one panel for each thing measured, restarts as lines across all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from math import ceil, log10

from benchmarks.soak.checks import Trouble
from benchmarks.soak.record import Row

WIDTH, PANEL, LEFT, RIGHT, TOP, GAP = 1100, 110, 80, 20, 70, 34
SYSTEM_COLOUR = {"kafka": "#b8860b", "rabbitmq": "#c2410c"}
Line = tuple[str, Callable[[Row], float | None]]
PANELS: tuple[tuple[str, tuple[Line, ...]], ...] = (
    ("resident memory, MB", (("#1d4ed8", lambda row: row.rss_mb),)),
    ("series on the page", (("#0f766e", lambda row: row.series),)),
    ("scrape, ms", (("#6d28d9", lambda row: row.scrape_ms),)),
    (
        "refresh, s (Kafka yellow, RabbitMQ red)",
        (("#b8860b", lambda row: row.kafka_refresh_s), ("#c2410c", lambda row: row.rabbitmq_refresh_s)),
    ),
    ("open files and threads", (("#475569", lambda row: row.files + row.threads),)),
    (
        "wrong values (red) and failed scrapes (black), so far",
        (("#dc2626", lambda row: row.wrong), ("#000000", lambda row: row.failed)),
    ),
    ("load of the machine (1 min)", (("#64748b", lambda row: row.load),)),
)


def svg(rows: Sequence[Row], troubles: Sequence[Trouble], began: float, title: str) -> str:
    """The whole picture. `began`: unix seconds of second 0."""
    end = max((row.second for row in rows), default=1.0)
    height = TOP + len(PANELS) * (PANEL + GAP) + 20
    shape = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {shape} font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
        f'<text x="{LEFT}" y="24" font-size="16" font-weight="bold">{escape(title)}</text>',
    ]
    for trouble in troubles:
        parts += _restart(trouble, began, end, height)
    for number, (name, lines) in enumerate(PANELS):
        parts += _panel(name, lines, rows, end, TOP + number * (PANEL + GAP))
    return "\n".join([*parts, "</svg>\n"])


def _x(second: float, end: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * second / end


def _restart(trouble: Trouble, began: float, end: float, height: int) -> list[str]:
    colour = SYSTEM_COLOUR[trouble.system]
    first = _x(trouble.began - began, end)
    last = _x(min((trouble.back or began + end) - began, end), end)
    words = escape(f"{trouble.node} {trouble.how}")
    wide, tall, y = max(last - first, 1), height - TOP - 20, TOP - 10
    turned = f"-18 {first:.1f} {y}"
    return [
        f'<rect x="{first:.1f}" y="{TOP - 6}" width="{wide:.1f}" height="{tall}" fill="{colour}" opacity="0.12"/>',
        f'<text x="{first:.1f}" y="{y}" font-size="9" fill="{colour}" transform="rotate({turned})">{words}</text>',
    ]


def _panel(name: str, lines: Sequence[Line], rows: Sequence[Row], end: float, top: int) -> list[str]:
    values = [value for _, of in lines for row in rows if (value := of(row)) is not None]
    most = _round_up(max(values, default=1.0))
    floor = top + PANEL
    parts = [f'<text x="{LEFT}" y="{top - 2}" fill="#333">{escape(name)}</text>']
    for share in (0.0, 0.5, 1.0):
        y = floor - share * (PANEL - 14)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" fill="#666">{most * share:g}</text>')
    for quarter in range(5):
        at = end * quarter / 4
        parts.append(
            f'<text x="{_x(at, end):.1f}" y="{floor + 14}" text-anchor="middle" fill="#999" font-size="10">'
            f"{at / 60:.1f} min</text>"
        )
    for colour, of in lines:
        parts.append(_curve(colour, of, rows, end, floor, most))
    return parts


def _curve(
    colour: str, of: Callable[[Row], float | None], rows: Sequence[Row], end: float, floor: int, most: float
) -> str:
    """A path that is broken where nothing is known."""
    path, pen = [], "M"
    for row in rows:
        value = of(row)
        if value is None:
            pen = "M"
            continue
        path.append(f"{pen}{_x(row.second, end):.1f} {floor - (PANEL - 14) * value / most:.1f}")
        pen = "L"
    return f'<path d="{" ".join(path)}" fill="none" stroke="{colour}" stroke-width="1.3"/>'


def _round_up(value: float) -> float:
    """The next 1, 2, 2.5, 5 or 10 times a power of ten."""
    if value <= 0:
        return 1.0
    power: float = 10.0 ** (ceil(log10(value)) - 1)
    return next(step * power for step in (1, 2, 2.5, 5, 10) if value <= step * power * 1.0001)


def html(picture: str, title: str, checks: Sequence[tuple[str, bool, str]], wrong: Sequence[str]) -> str:
    """A page with the verdict above the picture."""
    rows = "".join(
        f'<tr><td style="color:{"#15803d" if held else "#dc2626"}">{"held" if held else "FAILED"}</td>'
        f"<td>{escape(claim)}</td><td>{escape(seen)}</td></tr>"
        for claim, held, seen in checks
    )
    listed = "".join(f"<li>{escape(line)}</li>" for line in wrong)
    style = "body{font-family:sans-serif;margin:24px}td{padding:2px 12px 2px 0}"
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title><style>{style}</style>'
        f"<h1>{escape(title)}</h1><table>{rows}</table><ul>{listed}</ul>{picture}</html>\n"
    )
