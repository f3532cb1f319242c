"""What `nextok plot` shows in a terminal: the gaps by token, their histogram, and the figures.

Lines of text from series; the terminal's width, colour and signs are arguments.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from string import ascii_letters

from nextok.cli.plot_figures import Shown, figures, plain, wrapped
from nextok.cli.terminal_plot import (
    Layer,
    Name,
    bar_rows,
    column_names,
    framed,
    margin_of,
    mark_rows,
    place_of,
    row_names,
    scatter_rows,
    styled,
)
from nextok.cli.terminal_signs import Signs
from nextok.lab.axis import Axis
from nextok.lab.latency_figures import (
    STALL_TEXT,
    Series,
    bin_count,
    gap_axis,
    gap_label,
    heading,
    milliseconds,
    token_axis,
)

NARROWEST, WIDEST = 40, 120
"""Columns of a page."""
_BOLD, _DIM = "\x1b[1m", "\x1b[2m"
COLORS = ("\x1b[36m", "\x1b[33m", "\x1b[35m", "\x1b[34m", "\x1b[32m", "\x1b[31m")
_MOST_MARK_ROWS = 4
"""Of thread counts: a run that changed its mind all the time needs no more."""
_FRAME = 2
"""Columns between the names on the left and a field."""


@dataclass(frozen=True, kw_only=True)
class Room:
    """What there is to draw on."""

    columns: int
    lines: int
    signs: Signs
    color: bool

    @property
    def width(self) -> int:
        """Of the page."""
        return min(WIDEST, max(NARROWEST, self.columns))


def page(series: Sequence[Series], room: Room) -> list[str]:
    """All of it, from the heading to the figures."""
    shown = _told_apart(series, room.color and len(series) <= len(COLORS))
    gaps = gap_axis(series)
    tall = min(14, max(7, room.lines - 22))
    tokens_left = row_names(gaps, tall)
    counts = _Counts(shown, gaps, tall, room)
    margin = max(margin_of(tokens_left), margin_of(counts.left))
    width = room.width - margin - _FRAME
    return [
        *_headline(series, room),
        "",
        *_above(gap_label(gaps), _stall_note(series, room), room),
        *framed(
            _scatter(shown, gaps, width, tall, room.signs),
            tokens_left,
            column_names(token_axis(series), width),
            width=width,
            margin=margin,
            title="token index",
            signs=room.signs,
        ),
        *_thread_marks(shown, width, margin, room.signs),
        "",
        *counts.lines(width, margin),
        "",
        *figures(shown, room.width, room.signs, head_style=_DIM if room.color else ""),
    ]


def _told_apart(series: Sequence[Series], color: bool) -> list[Shown]:
    return [
        Shown(
            series=one,
            letter=ascii_letters[place % len(ascii_letters)],
            style=COLORS[place % len(COLORS)] if color else "",
        )
        for place, one in enumerate(series)
    ]


def _headline(series: Sequence[Series], room: Room) -> Iterator[str]:
    first, second = heading(series)
    for text, style in ((first, _BOLD), (second, _DIM)):
        for line in wrapped(plain(text, room.signs), room.width, room.signs):
            yield styled(line, style if room.color else "")


def _above(left: str, right: str, room: Room) -> list[str]:
    """The words above a field, on one line if they fit."""
    between = room.width - len(left) - len(right)
    words = [left + " " * between + right] if right and between > 1 else [left, right]
    return [styled(line, _DIM if room.color else "") for line in words if line]


def _stall_note(series: Sequence[Series], room: Room) -> str:
    stalls = any(one.stalls for one in series)
    return plain(f"{room.signs.loud} {STALL_TEXT}", room.signs) if stalls else ""


def _scatter(
    shown: Sequence[Shown], gaps: Axis, width: int, height: int, signs: Signs
) -> list[str]:
    layers = [
        Layer(
            points=one.series.points,
            loud=one.series.stall_points,
            letter=one.letter,
            style=one.style,
        )
        for one in shown
    ]
    tokens = token_axis([one.series for one in shown])
    return scatter_rows(layers, tokens, gaps, width=width, height=height, signs=signs)


def _thread_marks(shown: Sequence[Shown], width: int, margin: int, signs: Signs) -> Iterator[str]:
    """Arrows up to the tokens from which on another number of threads computed."""
    tokens = token_axis([one.series for one in shown])
    marks = [
        (place_of(index, tokens, width), word if len(shown) == 1 else f"{one.letter}: {word}")
        for one in shown
        for index, word in one.series.thread_marks
    ]
    for row in mark_rows(marks, width, signs)[:_MOST_MARK_ROWS]:
        yield " " * (margin + _FRAME) + row


class _Counts:
    """The histograms: one with an axis and its percentiles, or several above each other."""

    def __init__(self, shown: Sequence[Shown], gaps: Axis, tall: int, room: Room) -> None:
        self._shown, self._gaps, self._room = shown, gaps, room
        series = [one.series for one in shown]
        bins = bin_count(series, gaps)
        self._shares = [one.shares(gaps, bins) for one in series]
        self._most = max(map(max, self._shares))
        self._single = len(shown) == 1
        self._height = max(4, tall // 2) if self._single else 2 if len(shown) <= 4 else 1
        self.left = self._left()

    def _left(self) -> list[Name]:
        if self._single:
            return row_names(Axis(low=0, high=self._most), self._height)
        return [
            ((place + 1) * self._height - 1, one.letter) for place, one in enumerate(self._shown)
        ]

    def lines(self, width: int, margin: int) -> Iterator[str]:
        """The words above, the field, and where there is one series its percentiles."""
        longest = "" if self._single else f"highest bar: {self._most:.0f} %"
        yield from _above("share of the gaps (%)", longest, self._room)
        rows = [row for place in range(len(self._shown)) for row in self._bars(place, width)]
        yield from framed(
            rows, self.left, column_names(self._gaps, width),
            width=width, margin=margin, title="gap (ms)", signs=self._room.signs,
        )  # fmt: skip
        if self._single:
            for row in mark_rows(self._marks(width), width, self._room.signs):
                yield " " * (margin + _FRAME) + row

    def _bars(self, place: int, width: int) -> Iterator[str]:
        shares = self._shares[place]
        wide = [shares[column * len(shares) // width] for column in range(width)]
        for row in bar_rows(wide, self._most, height=self._height, signs=self._room.signs):
            yield styled(row, self._shown[place].style)

    def _marks(self, width: int) -> list[Name]:
        (one,) = self._shown
        return [
            (place_of(value, self._gaps, width), f"{name} {milliseconds(value)}")
            for name, value in one.series.percentiles_ms
        ]
