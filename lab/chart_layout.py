"""What of a chart goes where on a sheet, in inches from the top left corner. Draws nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap

from nextok.lab.chart import Chart, Kind
from nextok.lab.chart_axes import colors, has_values
from nextok.lab.picture import shortened
from nextok.lab.sheet import Look, looks

TURN = 30
"""Degrees: as high as half its length is what rises so."""
WIDTH, LEFT, RIGHT, PANEL = 10.0, 1.05, 0.35, 4.4
"""Of the sheet, of what is beside the panel, and the panel's height."""
_TITLE, _ROW, _BELOW, _NOTE, _FOOT = 0.8, 0.3, 0.8, 0.24, 0.12
_EDGE = 0.4
_LETTER, _NAME_LETTER = 0.082, 0.085
"""About as wide is a letter of the legend, and one of a name below the x axis."""
_MOST_TITLE, _MOST_NOTE, _MOST_LABEL = 78, 128, 60
"""Characters."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A series in the legend; `x` and `y` are its mark's middle."""

    x: float
    y: float
    look: Look
    kind: Kind
    label: str


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Where the parts of one chart are."""

    title: str
    looks: Sequence[Look]
    """Of the series, one each."""
    legend: Sequence[Entry]
    turned: bool
    """Whether the names below the x axis rise, by TURN."""
    panel_top: float
    notes: Sequence[tuple[float, str]]
    """Each line with its height."""
    height: float
    edge: float = _EDGE
    """Where texts begin."""

    @classmethod
    def of(cls, chart: Chart) -> Layout:
        """Of this chart: as high as it needs to be."""
        numbers = colors(chart.series)
        palette = looks(max(numbers, default=0) + 1)
        each = [palette[number] for number in numbers]
        legend = list(_legend(chart, each))
        top = legend[-1].y + 0.35 if legend else _TITLE
        longest = _NAME_LETTER * max(map(len, chart.x_names), default=0)
        turned = (longest + _NAME_LETTER) * len(chart.x_names) > WIDTH - LEFT - RIGHT
        below = top + PANEL + _BELOW + (longest / 2 if turned else 0)
        lines = [line for note in chart.notes for line in wrap(note, _MOST_NOTE)]
        return cls(
            title=shortened(chart.title, _MOST_TITLE),
            looks=each,
            legend=legend,
            turned=turned,
            panel_top=top,
            notes=[(below + place * _NOTE, line) for place, line in enumerate(lines)],
            height=below + len(lines) * _NOTE + _FOOT,
        )


def _legend(chart: Chart, each: Sequence[Look]) -> Iterator[Entry]:
    """Side by side, in as many rows as it takes; none for a single series, and for none that
    nothing is drawn of."""
    pairs = zip(chart.series, each, strict=True)
    named = [(one, look) for one, look in pairs if one.label and has_values(chart, one)]
    if len(named) < 2:
        return
    first = x = _EDGE + 0.08
    y = _TITLE
    for one, look in named:
        label = shortened(one.label, _MOST_LABEL)
        wide = 0.5 + _LETTER * len(label)
        if x + wide > WIDTH - RIGHT and x > first:
            x, y = first, y + _ROW
        yield Entry(x=x, y=y, look=look, kind=one.kind, label=label)
        x += wide
