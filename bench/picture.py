"""Figures as a picture: horizontal bars on a logarithmic scale, as SVG, without any library."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from .harness import Figure

WIDTH = 860
LABEL_WIDTH = 380
VALUE_WIDTH = 90
ROW = 26
BAR = 16
TOP = 44
OWN_COLOUR, OTHER_COLOUR, LINE_COLOUR, TEXT_COLOUR = "#1f6f8b", "#b8bec6", "#e3e6ea", "#24292f"
Row = tuple[str, float, bool]  # label, value, whether it is Strobe's


def picture(title: str, figures: Sequence[Figure]) -> str:
    """SVG with a bar for each figure and each of their baselines, once. ValueError where units differ or none is given.

    Bars begin at a power of ten below the least value.
    """
    units = {figure.unit for figure in figures}
    if len(units) != 1:
        raise ValueError(f"one picture shows one unit, not {sorted(units)}")
    rows = _rows(figures)
    low = math.floor(math.log10(min(value for _, value, _ in rows)) - 0.01)
    high = math.ceil(math.log10(max(value for _, value, _ in rows)))
    bottom = TOP + ROW * len(rows)
    parts = [_text(10, 24, f"{title}, {units.pop()} (logarithmic)", "start", 15)]
    for power in range(low, high + 1):
        x = _x(10.0**power, low, high)
        parts.append(f'<path d="M{x:.1f} {TOP - 8}V{bottom}" stroke="{LINE_COLOUR}"/>')
        parts.append(_text(x, bottom + 16, f"{10.0**power:g}", "middle", 11))
    for index, row in enumerate(rows):
        parts += _bar(row, TOP + ROW * index, low, high)
    size = f'width="{WIDTH}" height="{bottom + 28}" viewBox="0 0 {WIDTH} {bottom + 28}"'
    background = '<rect width="100%" height="100%" fill="#ffffff"/>'
    body = "\n".join([background, *parts])
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif">\n{body}\n</svg>\n'


def _rows(figures: Sequence[Figure]) -> list[Row]:
    """The greatest first. What several figures have in common comes once, with its least value."""
    found: dict[tuple[str, bool], float] = {}
    for figure in figures:
        for label, value, own in ((figure.name, figure.value, True), (figure.baseline, figure.baseline_value, False)):
            found[label, own] = min(value, found.get((label, own), math.inf))
    rows = [(label, value, own) for (label, own), value in found.items() if value > 0]
    return sorted(rows, key=lambda row: -row[1])


def _x(value: float, low: int, high: int) -> float:
    room = WIDTH - LABEL_WIDTH - VALUE_WIDTH
    return LABEL_WIDTH + room * (math.log10(value) - low) / (high - low)


def _bar(row: Row, top: float, low: int, high: int) -> list[str]:
    label, value, own = row
    end = _x(value, low, high)
    colour = OWN_COLOUR if own else OTHER_COLOUR
    middle = top + BAR - 4
    return [
        _text(LABEL_WIDTH - 8, middle, label, "end", 12),
        f'<rect x="{LABEL_WIDTH}" y="{top}" width="{end - LABEL_WIDTH:.1f}" height="{BAR}" fill="{colour}"/>',
        _text(end + 6, middle, f"{value:,.0f}" if value >= 100 else f"{value:.3g}", "start", 12),
    ]


def _text(x: float, y: float, text: str, anchor: str, size: int) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{TEXT_COLOUR}"'
    return f"<text {place}>{escape(text)}</text>"
