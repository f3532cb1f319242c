"""The picture of a chart. Draws what a chart says and nothing else; knows no experiment."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from nextok.lab.axis import Axis, labels
from nextok.lab.chart import Chart, Kind, Series
from nextok.lab.chart_axes import bar_room, shown_band, shown_points, x_axis, y_axis
from nextok.lab.chart_layout import LEFT, PANEL, RIGHT, TURN, WIDTH, Layout
from nextok.lab.picture import Form, drawable, picture
from nextok.lab.sheet import FAINT, INK, Look, Sheet

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_NO_ROOM = 0.88
"""Of a panel's width: from there on a mark's name stands to the left of it."""
_MANY_POINTS = 5000
"""From here on an SVG holds points as one image: as paths they would be megabytes."""


def chart_picture(chart: Chart, form: Form) -> bytes:
    """The file of the picture. Raises OutputError without matplotlib."""
    height = Layout.of(chart).height

    def draw(figure: Figure) -> None:
        draw_chart(Sheet(figure=figure, width=WIDTH, height=height), chart)

    return picture(draw, inches=(WIDTH, height), form=form)


def draw_chart(sheet: Sheet, chart: Chart) -> None:
    """Title, legend, panel and notes, from the top down."""
    layout = Layout.of(chart)
    sheet.text(layout.edge, 0.38, layout.title, size=14, bold=True)
    for entry in layout.legend:
        _mark(sheet, entry.x, entry.y, entry.look, entry.kind)
        sheet.text(entry.x + 0.2, entry.y, entry.label, size=10)
    panel = sheet.panel(LEFT, layout.panel_top, WIDTH - LEFT - RIGHT, PANEL)
    _draw_axes(panel, chart, turned=layout.turned)
    for one, look in zip(chart.series, layout.looks, strict=True):
        _Drawing(panel, chart, look).series(one)
    _draw_marks(panel, chart)
    for y, line in layout.notes:
        sheet.text(layout.edge, y, line, size=9.5, color=FAINT)


def _mark(sheet: Sheet, x: float, y: float, look: Look, kind: Kind) -> None:
    """What a series looks like: a stroke, a block or a point."""
    if kind == "points":
        sheet.swatch(x, y, look)
    elif kind in ("line", "steps"):
        sheet.stroke(x - 0.1, x + 0.1, y, look)
    else:
        sheet.swatch(x, y, Look(color=look.color, marker="s"))


def _draw_axes(panel: Axes, chart: Chart, *, turned: bool) -> None:
    x, y = x_axis(chart), y_axis(chart)
    panel.set_xscale("log" if x.log else "linear")
    panel.set_yscale("log" if y.log else "linear")
    panel.set_xlim(x.low, x.high)
    panel.set_ylim(y.low, y.high)
    _set_ticks(panel, chart, x, turned=turned)
    ticks = y.ticks(8)
    panel.set_yticks(ticks, labels(ticks))
    for minor in (panel.set_xticks, panel.set_yticks):
        minor([], minor=True)
    panel.set_xlabel(drawable(chart.x_label))
    panel.set_ylabel(drawable(chart.y_label))


def _set_ticks(panel: Axes, chart: Chart, x: Axis, *, turned: bool) -> None:
    if not chart.x_names:
        ticks = x.ticks(10)
        panel.set_xticks(ticks, labels(ticks))
        return
    names = [drawable(name) for name in chart.x_names]
    if turned:
        panel.set_xticks(
            range(len(names)), names, rotation=TURN, ha="right", rotation_mode="anchor"
        )  # fmt: skip
    else:
        panel.set_xticks(range(len(names)), names)


def _draw_marks(panel: Axes, chart: Chart) -> None:
    to_axes = panel.transData + panel.transAxes.inverted()
    for x, name in chart.marks:
        panel.axvline(x, color=INK, linewidth=1, linestyle=":", zorder=2)
        is_last = to_axes.transform((x, 0))[0] > _NO_ROOM
        panel.annotate(
            drawable(name), (x, 1), xycoords=("data", "axes fraction"),
            xytext=(-4 if is_last else 4, -10), ha="right" if is_last else "left",
            textcoords="offset points", fontsize=9.5, color=INK, zorder=5,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 1},
        )  # fmt: skip


class _Drawing:
    """One series on a panel."""

    def __init__(self, panel: Axes, chart: Chart, look: Look) -> None:
        self._panel = panel
        self._chart = chart
        self._look = look

    def series(self, one: Series) -> None:
        if one.kind == "band":
            self._band(one)
            return
        points = shown_points(self._chart, one)
        x, y = [x for x, _ in points], [y for _, y in points]
        if one.kind == "bars":
            self._bars(one, x, y)
        elif one.kind == "points":
            self._points(x, y)
        else:
            self._line(x, y, "steps-post" if one.kind == "steps" else "default")

    def _line(
        self, x: Sequence[float], y: Sequence[float], style: Literal["default", "steps-post"]
    ) -> None:
        look = self._look
        self._panel.plot(
            x, y, color=look.color, linestyle=look.dashes, drawstyle=style, linewidth=2, zorder=4
        )  # fmt: skip

    def _points(self, x: Sequence[float], y: Sequence[float]) -> None:
        many = len(x)
        self._panel.scatter(
            x, y, s=26 if many <= 300 else 12 if many <= 1500 else 5, marker=self._look.marker,
            color=self._look.color, alpha=0.7 if many <= 1500 else 0.4, linewidths=0,
            rasterized=many > _MANY_POINTS, zorder=3,
        )  # fmt: skip

    def _bars(self, one: Series, x: Sequence[float], y: Sequence[float]) -> None:
        """Beside those of the other series at the same place."""
        all_bars = [each for each in self._chart.series if each.kind == "bars"]
        wide = 0.84 * bar_room(self._chart) / len(all_bars)
        shift = (all_bars.index(one) - (len(all_bars) - 1) / 2) * wide
        places = [place + shift for place in x]
        self._panel.bar(places, y, width=wide * 0.96, color=self._look.color, zorder=3)
        if self._chart.x_names:
            self._name_the_invisible(one, shift)

    def _name_the_invisible(self, one: Series, shift: float) -> None:
        """A bar that is not there is 0, or there is nothing that it could tell."""
        for x, y in zip(one.x, one.y, strict=True):
            if y == 0 or math.isnan(y):
                self._panel.annotate(
                    "0" if y == 0 else "none", (x + shift, 0), xycoords=("data", "axes fraction"),
                    xytext=(0, 3), textcoords="offset points", rotation=0 if y == 0 else 90,
                    ha="center", va="bottom", fontsize=9, color=FAINT, zorder=4,
                )  # fmt: skip

    def _band(self, one: Series) -> None:
        band = shown_band(self._chart, one)
        self._panel.fill_between(
            [x for x, _, _ in band], [low for _, low, _ in band], [high for _, _, high in band],
            color=self._look.color, alpha=0.18, linewidth=0, zorder=2,
        )  # fmt: skip
