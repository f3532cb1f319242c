"""Diagrams in characters: points, bars, and the axes around them. Numbers in, lines out.

Pure: knows no terminal and no data's meaning. No line is wider than it was asked to be; escape
codes are in it only where a style was given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple, TypeAlias

from nextok.cli.terminal_signs import BRAILLE, Signs
from nextok.lab.axis import Axis, labels

_PLAIN = "\x1b[0m"
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""The bits of a braille cell's dots, row by row."""
_ROWS_A_TICK, _COLUMNS_A_TICK = 2, 10
"""At least: names that are closer would be a ruler."""

Cell: TypeAlias = tuple[int, int]
"""Row from the top, and column."""
Name: TypeAlias = tuple[int, str]
"""What is written at a row or under a column."""


@dataclass(frozen=True, kw_only=True)
class Layer:
    """The points of one series."""

    points: Sequence[tuple[float, float]]
    loud: Sequence[tuple[float, float]] = ()
    """Those of them that are to be seen each by itself."""
    letter: str = ""
    """What stands for it where several layers have no styles to be told apart by."""
    style: str = ""
    """Escape code, such as that of a colour."""


@dataclass(kw_only=True)
class _Spot:
    """What one layer has in one cell."""

    dots: int = 0
    count: int = 0


class _Seen(NamedTuple):
    """What is shown in a cell."""

    sign: str = " "
    style: str = ""
    points: int = 0


_NOTHING = _Seen()


def styled(text: str, style: str) -> str:
    """The text in that style, if there is one."""
    return f"{style}{text}{_PLAIN}" if style and text else text


def scatter_rows(
    layers: Sequence[Layer], x: Axis, y: Axis, *, width: int, height: int, signs: Signs
) -> list[str]:
    """All layers in one field; of a cell that several share, the one with most points is seen."""
    lettered = len(layers) > 1 and not all(layer.style for layer in layers)
    cells: dict[Cell, _Seen] = {}
    for layer in layers:
        for cell, spot in _spots(layer.points, x, y, width, height).items():
            if cell not in cells or spot.count > cells[cell].points:
                sign = layer.letter if lettered else _sign(spot, signs)
                cells[cell] = _Seen(sign, layer.style, spot.count)
    for layer in layers:
        for cell in _spots(layer.loud, x, y, width, height):
            cells[cell] = _Seen(signs.loud, layer.style)
    return [
        _row([cells.get((row, column), _NOTHING) for column in range(width)])
        for row in range(height)
    ]


def _row(cells: Sequence[_Seen]) -> str:
    """Cells side by side, one escape code for all neighbours of a style."""
    runs = groupby(cells, key=lambda cell: cell.style)
    return "".join(styled("".join(cell.sign for cell in run), style) for style, run in runs)


def _spots(
    points: Sequence[tuple[float, float]], x: Axis, y: Axis, width: int, height: int
) -> dict[Cell, _Spot]:
    found: dict[Cell, _Spot] = {}
    for across, up in points:
        column = place_of(across, x, 2 * width)
        row = 4 * height - 1 - place_of(up, y, 4 * height)
        spot = found.setdefault((row // 4, column // 2), _Spot())
        spot.dots |= _DOTS[row % 4][column % 2]
        spot.count += 1
    return found


def _sign(spot: _Spot, signs: Signs) -> str:
    if not signs.density:
        return chr(BRAILLE | spot.dots)
    return signs.density[min(spot.count, len(signs.density)) - 1]


def place_of(value: float, axis: Axis, cells: int) -> int:
    """The cell of an axis that many cells long in which a value stands."""
    return min(cells - 1, int(axis.position(value) * cells))


def bar_rows(values: Sequence[float], most: float, *, height: int, signs: Signs) -> list[str]:
    """A bar for each value, one column wide; `most` is as high as the field. None vanishes."""
    full = len(signs.bars) - 1
    parts = [
        max(round(value / most * height * full), 1) if value > 0 else 0 for value in values
    ]  # fmt: skip
    return [
        "".join(signs.bars[min(full, max(0, part - full * row))] for part in parts)
        for row in reversed(range(height))
    ]


def row_names(axis: Axis, height: int) -> list[Name]:
    """The ticks of an upright axis."""
    ticks = axis.ticks(max(2, height // _ROWS_A_TICK))
    places = [height - 1 - place_of(tick, axis, height) for tick in ticks]
    return list(zip(places, labels(ticks), strict=True))


def column_names(axis: Axis, width: int) -> list[Name]:
    """The ticks of a lying axis."""
    ticks = axis.ticks(max(2, width // _COLUMNS_A_TICK))
    places = [place_of(tick, axis, width) for tick in ticks]
    return list(zip(places, labels(ticks), strict=True))


def margin_of(names: Sequence[Name]) -> int:
    """Columns that names on the left need."""
    return max((len(text) for _, text in names), default=0)


def framed(
    rows: Sequence[str],
    left: Sequence[Name],
    below: Sequence[Name],
    *,
    width: int,
    margin: int,
    title: str,
    signs: Signs,
) -> list[str]:
    """A field with its axes: `margin` + 2 columns on the left, two lines below.

    width: the field's. title: of the axis below, at its right end; a name it needs the room of
    is left out.
    """
    names = dict(left)
    lines = [
        f"{names.get(place, ''):>{margin}} "
        f"{signs.tick if place in names else signs.side}{row}".rstrip()
        for place, row in enumerate(rows)
    ]
    notches = {column for column, _ in below}
    ruler = "".join(signs.notch if column in notches else signs.line for column in range(width))
    lines.append(f"{'':{margin}} {signs.corner}{ruler}")
    lines.append(f"{'':{margin + 2}}{_named(below, width, title)}")
    return lines


def _named(below: Sequence[Name], width: int, title: str) -> str:
    """Names centred under their columns, with a space between any two."""
    text, end = "", width - len(title) - 2
    for column, name in below:
        start = max(0, column - (len(name) - 1) // 2)
        if start >= len(text) + bool(text) and start + len(name) <= end:
            text = text.ljust(start) + name
    return text.ljust(width - len(title)) + title


def mark_rows(marks: Sequence[Name], width: int, signs: Signs) -> list[str]:
    """Arrows up to columns, each with a word beside it: in as few lines as they fit in."""
    rows: list[str] = []
    for column, word in marks:
        right = column + 2 + len(word) <= width
        text = f"{signs.arrow} {word}" if right else f"{word} {signs.arrow}"
        start = max(0, column if right else column + 1 - len(text))
        place = next((at for at, row in enumerate(rows) if len(row) + 2 <= start), len(rows))
        if place == len(rows):
            rows.append("")
        rows[place] = rows[place].ljust(start) + text
    return rows
