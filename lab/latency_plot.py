"""The picture of latencies: the gap before each token, and how the gaps are distributed.

The two panels share the axis of the gaps: what is seen on the left is counted on the right. A
table below is the legend. Draws what `nextok.lab.latency_figures` says; knows no files.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nextok.lab.axis import Axis, labels
from nextok.lab.latency_figures import (
    HEADS,
    STALL_TEXT,
    Series,
    bin_count,
    gap_axis,
    gap_label,
    heading,
    token_axis,
)
from nextok.lab.latency_marks import mark_strips, mark_threads, name_percentiles
from nextok.lab.picture import Form, fitted_labels, picture, shortened
from nextok.lab.sheet import FAINT, INK, Legend, Look, Sheet, legend_height, looks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH, _LEFT, _RIGHT = 12.0, 1.0, 1.25
"""Inches, like all lengths here. On the right there is room for the percentiles' names."""
_TOP, _PANEL, _BELOW, _FOOT = 1.3, 4.1, 0.95, 0.1
_BETWEEN, _COUNTS = 0.25, 2.3
_CELL, _MOST_LABEL = 0.76, 41
"""Width of a figure in the legend, and the characters that are left for a label."""
_MOST_TITLE, _MOST_SETTINGS = 74, 112
"""Characters of the two lines above."""
_COLORS = 6
"""That everybody can tell apart."""
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
    each = list(zip(series, distinct_looks(len(series)), strict=True))
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
        name_percentiles(tokens, counts, series[0], gaps)
    labels = fitted_labels([one.label for one in series], _MOST_LABEL)
    rows = [(look, label, one.cells) for (one, look), label in zip(each, labels, strict=True)]
    legend = Legend(heads=HEADS, rows=rows)
    legend.draw(sheet, _LEFT, _TOP + _PANEL + _BELOW, _WIDTH - _LEFT - 0.4, _CELL)


def distinct_looks(count: int) -> list[Look]:
    """One for each: where colours come again, each time with other marks."""
    base = looks(_COLORS)
    if not len(base) < count <= len(base) ** 2:
        return looks(count)
    return [
        Look(color=base[one % _COLORS].color, marker=base[(one + one // _COLORS) % _COLORS].marker)
        for one in range(count)
    ]


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
    mark_threads(panel, each, tokens)


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
        mark_strips(panel, [one for one, _ in each], strip)


def _corner(panel: Axes, text: str) -> None:
    """A word on the right above a panel."""
    panel.set_title(text, loc="right", fontsize=10, color=FAINT)
