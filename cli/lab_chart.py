"""A chart of the lab in characters: for who has no pictures. Numbers in, lines out."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from string import ascii_letters
from typing import NamedTuple, TypeAlias

from rich.cells import cell_len, chop_cells

from nextok.cli.plot_figures import plain, wrapped
from nextok.cli.plot_page import COLORS, Room
from nextok.cli.terminal_plot import (
    Layer,
    column_names,
    framed,
    margin_of,
    mark_rows,
    place_of,
    row_names,
    scatter_rows,
    styled,
)
from nextok.lab.axis import Axis
from nextok.lab.chart import Chart, Series
from nextok.lab.chart_axes import (
    bar_room,
    colors,
    has_values,
    shown_band,
    shown_points,
    x_axis,
    y_axis,
)
from nextok.lab.numbers import number

_BOLD, _DIM = "\x1b[1m", "\x1b[2m"
_FRAME = 2
"""Columns between the names on the left and a field."""
_MOST_NAME, _LEAST_BAR = 24, 4
_LEVELS = 56
"""Points from the foot of a bar to its top: as many as the highest field has."""
Points: TypeAlias = Sequence[tuple[float, float]]


class _Shown(NamedTuple):
    """A series, and how it is told from the others."""

    series: Series
    letter: str
    style: str


def chart_lines(chart: Chart, room: Room) -> list[str]:
    """Title, legend, field and notes; no line is wider than the room."""
    each = _told_apart(chart, room)
    named = [one for one in each if one.series.label and has_values(chart, one.series)]
    return [
        *_texts(chart.title, room, _BOLD),
        *(_legend(named, room) if len(named) > 1 else ()),
        "",
        *(_named_bars(chart, each, room) if chart.x_names else _field(chart, each, room)),
        *(line for note in chart.notes for line in _texts(note, room, _DIM)),
    ]


def _texts(text: str, room: Room, style: str) -> Iterator[str]:
    for line in wrapped(plain(text, room.signs), room.width, room.signs):
        yield styled(line, style if room.color else "")


def _told_apart(chart: Chart, room: Room) -> list[_Shown]:
    return [
        _Shown(
            series=one,
            letter=ascii_letters[number % len(ascii_letters)],
            style=COLORS[number % len(COLORS)] if room.color else "",
        )
        for one, number in zip(chart.series, colors(chart.series), strict=True)
    ]


def _legend(named: Sequence[_Shown], room: Room) -> list[str]:
    """The letters, or their colours, with what they stand for."""
    lines: list[str] = []
    for one in named:
        label = (chop_cells(plain(one.series.label, room.signs), room.width - 4) or [""])[0]
        sign = one.letter if not one.style else styled(room.signs.bars[-1], one.style)
        lines.append(f"{sign} {label}")
    return lines


def _field(chart: Chart, each: Sequence[_Shown], room: Room) -> Iterator[str]:
    """A field of points with its axes, and the marks below it."""
    x, y = x_axis(chart), y_axis(chart)
    height = min(14, max(7, room.lines - 14))
    left = row_names(y, height)
    margin = margin_of(left)
    width = room.width - margin - _FRAME
    layers = [
        Layer(points=_dense(chart, one.series, x, width), letter=one.letter, style=one.style)
        for one in each
    ]
    yield from _texts(chart.y_label, room, _DIM)
    yield from framed(
        scatter_rows(layers, x, y, width=width, height=height, signs=room.signs),
        left,
        column_names(x, width),
        width=width,
        margin=margin,
        title=plain(chart.x_label, room.signs),
        signs=room.signs,
    )
    marks = [(place_of(at, x, width), plain(name, room.signs)) for at, name in chart.marks]
    for row in mark_rows(marks, width, room.signs):
        yield " " * (margin + _FRAME) + row


def _dense(chart: Chart, series: Series, x: Axis, width: int) -> Points:
    """The points to set: those there are, those between them, or those under a bar."""
    if series.kind == "band":
        band = shown_band(chart, series)
        edges = [[(at, low) for at, low, _ in band], [(at, high) for at, _, high in band]]
        return [point for edge in edges for point in _joined(edge, x, width)]
    points = shown_points(chart, series)
    if series.kind == "points":
        return points
    if series.kind == "bars":
        return _filled(chart, series, x, width)
    return _joined(points, x, width, steps=series.kind == "steps")


def _filled(chart: Chart, series: Series, x: Axis, width: int) -> Points:
    """Points all over the bars, which stand beside those of the other series."""
    bars = [one for one in chart.series if one.kind == "bars"]
    wide = 0.84 * bar_room(chart) / len(bars)
    shift = (bars.index(series) - len(bars) / 2) * wide
    low = y_axis(chart).low
    columns = [x.value((half + 0.5) / (2 * width)) for half in range(2 * width)]
    return [
        (column, low + (top - low) * part / _LEVELS)
        for at, top in shown_points(chart, series)
        for column in [one for one in columns if 0 <= one - at - shift < wide] or [at]
        for part in range(_LEVELS + 1)
    ]


def _joined(points: Points, x: Axis, width: int, *, steps: bool = False) -> Points:
    """A point for every half column from the first to the last of them."""
    if len(points) < 2:
        return points
    places = [place for place, _ in points]
    found = list(points)
    for half in range(2 * width):
        at = x.value((half + 0.5) / (2 * width))
        after = bisect_right(places, at)
        if 0 < after < len(points):
            (left, low), (right, high) = points[after - 1], points[after]
            share = 0.0 if steps or right == left else (at - left) / (right - left)
            found.append((at, low + (high - low) * share))
    return found


def _named_bars(chart: Chart, each: Sequence[_Shown], room: Room) -> Iterator[str]:
    """A line for every bar, those of one name together; where there is none, not even 0, a stroke
    stands for its value."""
    heights = [dict(zip(one.series.x, one.series.y, strict=True)) for one in each]
    scale = y_axis(chart)
    most = min(_MOST_NAME, room.width // 3)
    names = [(chop_cells(plain(name, room.signs), most) or [""])[0] for name in chart.x_names]
    wide = max(map(cell_len, names))
    bar = max(_LEAST_BAR, room.width - wide - 14)
    low = scale.position(0.0) if not scale.log else 0.0
    yield from _texts(chart.y_label, room, _DIM)
    for place, name in enumerate(names):
        for one, found in zip(each, heights, strict=True):
            value = found.get(place, math.nan)
            long = round(bar * max(0.0, scale.position(value) - low)) if 0 < value < math.inf else 0
            sign = room.signs.bars[-1] if one.style or len(each) == 1 else one.letter
            drawn = styled(sign * long, one.style)
            left = " " * (wide - cell_len(name)) + name
            yield f"{left} {room.signs.side}{drawn} {_number(value)}"
            name = ""


def _number(value: float) -> str:
    return number(value) if math.isfinite(value) else "-"
