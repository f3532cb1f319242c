"""What is marked in the picture of latencies beside the points: percentiles, threads, in words.

Draws into panels that are there; knows no files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from nextok.lab.axis import Axis
from nextok.lab.latency_figures import Series, milliseconds
from nextok.lab.sheet import FAINT, INK, Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINES: Mapping[str, Literal["-", "--", ":"]] = {"p50": "-", "p95": "--", "p99": ":"}
_APART = 0.045
"""Of the panel's height: names of percentiles are no closer than this."""
_WORD = 0.09
"""Of its width: words about threads are no closer."""


def mark_threads(panel: Axes, each: Sequence[tuple[Series, Look]], tokens: Axis) -> None:
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


def mark_strips(panel: Axes, series: Sequence[Series], strip: float) -> None:
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


def name_percentiles(tokens: Axes, counts: Axes, one: Series, gaps: Axis) -> None:
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
