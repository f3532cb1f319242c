"""The picture of latencies: the gap before each token, and how the gaps are distributed.

The two panels share the axis of the gaps: what is seen on the left is counted on the right. A
table below is the legend. Draws what `nextok.lab.latency_figures` says; knows no files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from nextok.lab.axis import Axis, labels
from nextok.lab.latency_figures import (
    HEADS,
    STALL_TEXT,
    Series,
    bin_count,
    gap_axis,
    gap_label,
    heading,
    milliseconds,
    token_axis,
)
from nextok.lab.picture import Form, picture, shortened
from nextok.lab.sheet import FAINT, INK, Legend, Look, Sheet, legend_height, looks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH, _LEFT, _RIGHT = 12.0, 1.0, 1.25
"""Inches, like all lengths here. On the right there is room for the percentiles' names."""
_TOP, _PANEL, _BELOW, _FOOT = 1.3, 4.1, 0.95, 0.1
_BETWEEN, _COUNTS = 0.25, 2.3
_CELL = 0.86
_MOST_TITLE, _MOST_SETTINGS = 74, 112
"""Characters of the two lines above."""
_LINES: Mapping[str, Literal["-", "--", ":"]] = {"p50": "-", "p95": "--", "p99": ":"}
_APART = 0.045
"""Of the panel's height: names of percentiles are no closer than this."""
_WORD = 0.09
"""Of its width: words about threads are no closer."""
_MANY_POINTS = 5000
"""From here on an SVG holds the points as one image: as paths they would be megabytes."""


def latency_picture(series: Sequence[Series], form: Form) -> bytes:
    """The file of the picture. Raises OutputError without matplotlib."""
    heights = _TOP, _PANEL, _BELOW, legend_height(len(series)), _FOOT
    height = sum(heights)

    def draw(figure: Figure) -> None:
        draw_latency(Sheet(figure=figure, width=_WIDTH, height=height), series)

    return picture(draw, inches=(_WIDTH, height), form=form)


def draw_latency(sheet: Sheet, series: Sequence[Series]) -> None:
    """Everything, from the top down."""
    each = list(zip(series, looks(len(series)), strict=True))
    title, settings = heading(series)
    sheet.text(_LEFT, 0.4, shortened(title, _MOST_TITLE), size=15, bold=True)
    sheet.text(_LEFT, 0.72, shortened(settings, _MOST_SETTINGS), size=11, color=FAINT)
    gaps, width = gap_axis(series), _WIDTH - _LEFT - _BETWEEN - _COUNTS - _RIGHT
    tokens = sheet.panel(_LEFT, _TOP, width, _PANEL)
    counts = sheet.panel(_LEFT + width + _BETWEEN, _TOP, _COUNTS, _PANEL)
    for panel in (tokens, counts):
        _shared_axis(panel, gaps)
    _draw_tokens(tokens, each, gaps)
    _draw_counts(counts, each, gaps)
    if len(series) == 1:
        _name_percentiles(tokens, counts, series[0], gaps)
    legend = Legend(heads=HEADS, rows=[(look, one.label, one.cells) for one, look in each])
    legend.draw(sheet, _LEFT, _TOP + _PANEL + _BELOW, _WIDTH - _LEFT - 0.4, _CELL)


def _shared_axis(panel: Axes, gaps: Axis) -> None:
    """The gaps, from bottom to top."""
    panel.set_yscale("log" if gaps.log else "linear")
    panel.set_ylim(gaps.low, gaps.high)
    ticks = gaps.ticks(8)
    panel.set_yticks(ticks, labels(ticks))
    panel.set_yticks([], minor=True)


def _draw_tokens(panel: Axes, each: Sequence[tuple[Series, Look]], gaps: Axis) -> None:
    """The left panel: one point a token, a ring around each stall."""
    tokens = token_axis([one for one, _ in each])
    ticks = tokens.ticks(10)
    panel.set_xlim(tokens.low, tokens.high)
    panel.set_xticks(ticks, labels(ticks))
    panel.set_xlabel("token index")
    panel.set_ylabel(gap_label(gaps))
    panel.set_title("Gap before each token", loc="left", fontsize=11.5, color=INK)
    for one, look in each:
        _scatter(panel, one, look, gaps)
    stalled = [point for one, _ in each for point in one.stall_points]
    if stalled:
        indexes, heights = [index for index, _ in stalled], [gap for _, gap in stalled]
        panel.scatter(
            indexes, heights, s=90, marker="o", facecolors="none",
            edgecolors=INK, linewidths=1.2, zorder=4,
        )  # fmt: skip
        _corner(panel, f"○ {STALL_TEXT}")
    _mark_threads(panel, each, tokens)


def _mark_threads(panel: Axes, each: Sequence[tuple[Series, Look]], tokens: Axis) -> None:
    """Where the number of threads changed: a line and a word, or a notch for each of several."""
    labelled = -1.0
    for one, look in each:
        for index, word in one.thread_marks:
            place = tokens.position(index)
            if len(each) > 1:
                panel.axvline(index, ymin=0.95, color=look.color, linewidth=2, zorder=2)
                continue
            panel.axvline(index, color=FAINT, linewidth=0.8, linestyle=(0, (2, 2)), zorder=2)
            if place >= labelled:
                labelled = place + _WORD
                panel.text(
                    place + 0.006, 0.985, word, transform=panel.transAxes,
                    fontsize=9, color=FAINT, va="top", zorder=4,
                )  # fmt: skip


def _scatter(panel: Axes, one: Series, look: Look, gaps: Axis) -> None:
    many = len(one.points)
    heights = [max(gap, gaps.low) for _, gap in one.points]
    panel.scatter(
        [index for index, _ in one.points],
        heights,
        s=22 if many <= 300 else 12 if many <= 1500 else 5,
        marker=look.marker,
        color=look.color,
        alpha=0.75 if many <= 1500 else 0.4,
        linewidths=0,
        rasterized=many > _MANY_POINTS,
        zorder=3,
    )


def _draw_counts(panel: Axes, each: Sequence[tuple[Series, Look]], gaps: Axis) -> None:
    """The right panel: the histograms, side by side if there are several."""
    panel.tick_params(axis="y", labelleft=False, length=0)
    panel.set_title("Distribution", loc="left", fontsize=11.5, color=INK)
    bins = bin_count([one for one, _ in each], gaps)
    edges = [gaps.value(place / bins) for place in range(bins + 1)]
    shares = [one.shares(gaps, bins) for one, _ in each]
    longest = max(map(max, shares))
    strip = longest * 1.06
    for place, ((_, look), share) in enumerate(zip(each, shares, strict=True)):
        foot = place * strip
        panel.stairs(
            [foot + part for part in share], edges, baseline=foot,
            orientation="horizontal", fill=True, color=look.color, alpha=0.85,
        )  # fmt: skip
    panel.set_xlim(0, strip * len(each))
    panel.set_xlabel("share of the gaps (%)")
    if len(each) > 1:
        panel.set_xlabel(f"share of the gaps\n(the longest bar: {longest:.0f} %)")
        _mark_strips(panel, [one for one, _ in each], strip)


def _mark_strips(panel: Axes, series: Sequence[Series], strip: float) -> None:
    """Lines at the percentiles of each, and what they mean beside the panel."""
    panel.set_xticks([])
    panel.grid(False)
    for place, one in enumerate(series):
        ends = place * strip, (place + 0.94) * strip
        for name, value in one.percentiles_ms:
            _line(panel, ends, value, name, zorder=5)
    for place, name in enumerate(_LINES):
        height = 0.97 - 0.055 * place
        panel.plot(
            [1.05, 1.19], [height, height], transform=panel.transAxes, clip_on=False,
            color=INK, linewidth=1, linestyle=_LINES[name],
        )  # fmt: skip
        _beside(panel, 1.22, height, name)


def _line(
    panel: Axes, ends: tuple[float, float], value: float, name: str, *, zorder: float
) -> None:
    style = _LINES[name]
    panel.hlines(value, *ends, colors=INK, linewidth=0.9, linestyles=style, zorder=zorder)


def _beside(panel: Axes, x: float, y: float, text: str) -> None:
    """A word on the right of a panel, in shares of its size."""
    panel.text(x, y, text, transform=panel.transAxes, fontsize=10, color=INK, va="center")


def _corner(panel: Axes, text: str) -> None:
    """A word on the right above a panel."""
    panel.set_title(text, loc="right", fontsize=10, color=FAINT)


def _name_percentiles(tokens: Axes, counts: Axes, one: Series, gaps: Axis) -> None:
    """Lines through both panels, their names beside the right one."""
    places = spread_out([gaps.position(value) for _, value in one.percentiles_ms], _APART)
    for (name, value), place in zip(one.percentiles_ms, places, strict=True):
        for panel in (tokens, counts):
            _line(panel, panel.get_xlim(), value, name, zorder=2.5)
        _beside(counts, 1.04, place, f"{name} {milliseconds(value)} ms")


def spread_out(places: Sequence[float], apart: float) -> list[float]:
    """Ascending places, moved as little as makes them no closer than `apart`."""
    moved: list[float] = []
    for place in places:
        moved.append(max(place, moved[-1] + apart) if moved else place)
    return moved
