"""The picture of a chart: what is drawn where, and the axes that a terminal shares."""

from __future__ import annotations

import math
from typing import Any

import pytest
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure

from nextok.lab.axis import Axis
from nextok.lab.chart import Chart, Series
from nextok.lab.chart_axes import bar_room, colors, shown_band, shown_points, x_axis, y_axis
from nextok.lab.chart_layout import Layout
from nextok.lab.drawing import chart_picture, draw_chart
from nextok.lab.sheet import Sheet


def chart(*series: Series, **options: Any) -> Chart:
    words = {"name": "c", "title": "A title", "x_label": "index", "y_label": "time (ms)"}
    return Chart(**{**words, **options}, series=series)


def drawn(one: Chart) -> tuple[Figure, Any]:
    figure = Figure(figsize=(10, 6))
    draw_chart(Sheet(figure=figure, width=10, height=Layout.of(one).height), one)
    (panel,) = figure.axes
    return figure, panel


LINE = Series(label="a line", x=[0, 1, 2], y=[1.0, 2.0, 4.0])


def test_a_line_steps_points_bars_and_a_band_are_drawn() -> None:
    _, panel = drawn(
        chart(
            LINE,
            Series(label="steps", x=[0, 1], y=[3.0, 1.0], kind="steps"),
            Series(label="points", x=[0, 2], y=[2.0, 5.0], kind="points"),
            Series(label="band", x=[0, 1], y=[1.0, 1.0], y_high=[2.0, 3.0], kind="band"),
            Series(label="bars", x=[0, 1], y=[4.0, 3.0], kind="bars"),
        )
    )
    line, steps = panel.lines
    assert list(zip(*line.get_data(), strict=True)) == [(0, 1), (1, 2), (2, 4)]
    assert steps.get_drawstyle() == "steps-post"
    (points,) = [one for one in panel.collections if isinstance(one, PathCollection)]
    assert points.get_offsets().tolist() == [[0, 2], [2, 5]]
    assert [bar.get_height() for bar in panel.patches] == [4.0, 3.0]
    (band,) = [one for one in panel.collections if not isinstance(one, PathCollection)]
    assert band.get_datalim(panel.transData).bounds == (0.0, 1.0, 1.0, 2.0)


def test_words_stand_where_they_belong() -> None:
    one = chart(LINE, Series(label="other", x=[0, 1], y=[1.0, 1.0]), notes=("how", "made"),
                marks=((1.0, "here"),))  # fmt: skip
    figure, panel = drawn(one)
    assert (panel.get_xlabel(), panel.get_ylabel()) == ("index", "time (ms)")
    texts = [text.get_text() for text in figure.texts]
    assert texts == ["A title", "a line", "other", "how", "made"]
    assert [text.get_text() for text in panel.texts] == ["here"]
    assert panel.lines[-1].get_xdata() == [1.0, 1.0]


def test_one_series_has_no_legend_nor_has_one_without_a_label() -> None:
    assert Layout.of(chart(LINE)).legend == []
    assert Layout.of(chart(LINE, Series(label="", x=[0], y=[1.0]))).legend == []


def test_those_that_are_alike_share_a_colour() -> None:
    fit = Series(label="fit", x=[0, 2], y=[1.0, 4.0], like="a line")
    other = Series(label="other", x=[0, 2], y=[1.0, 4.0])
    assert colors([LINE, fit, other]) == [0, 0, 1]
    _, panel = drawn(chart(LINE, fit, other))
    line, fitted, third = (one.get_color() for one in panel.lines)
    assert line == fitted != third


def test_what_cannot_stand_on_the_axes_is_left_out() -> None:
    wild = Series(label="w", x=[0, 1, 2, 3], y=[math.nan, math.inf, 0.0, 5.0])
    assert shown_points(chart(wild), wild) == [(2, 0.0), (3, 5.0)]
    assert shown_points(chart(wild, y_scale="log"), wild) == [(3, 5.0)]
    band = Series(label="b", x=[0, 1], y=[0.0, 1.0], y_high=[2.0, 3.0], kind="band")
    assert shown_band(chart(band, y_scale="log"), band) == [(1, 1.0, 3.0)]


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_a_chart_without_values_is_drawn_all_the_same(scale: str) -> None:
    empty = chart(Series(label="none", x=[], y=[]), y_scale=scale, x_scale=scale)
    assert (x_axis(empty), y_axis(empty)) == (Axis(low=0.0, high=1.0), Axis(low=0.0, high=1.0))
    assert chart_picture(empty, "png").startswith(b"\x89PNG")


def test_bars_begin_at_nothing_and_stand_side_by_side() -> None:
    one = Series(label="one", x=[10, 20, 30], y=[5.0, 6.0, 7.0], kind="bars")
    two = Series(label="two", x=[10, 20, 30], y=[6.0, 6.0, 6.0], kind="bars")
    both = chart(one, two)
    assert bar_room(both) == 10
    assert y_axis(both).low == 0.0
    assert (x_axis(both).low, x_axis(both).high >= 35) == (5.0, True)
    _, panel = drawn(both)
    left, right = panel.patches[0], panel.patches[3]
    assert left.get_x() + left.get_width() < right.get_x() + 0.2
    assert (left.get_x() + right.get_x() + right.get_width()) / 2 == pytest.approx(10)


def test_a_bar_of_nothing_is_told_from_no_bar() -> None:
    some = Series(label="some", x=[0, 1, 2], y=[0.0, math.nan, 3.0], kind="bars")
    _, panel = drawn(chart(some, x_names=("a", "b", "c")))
    assert [text.get_text() for text in panel.texts] == ["0", "none"]


def test_a_series_that_nothing_is_drawn_of_is_not_in_the_legend() -> None:
    none = Series(label="none", x=[1.0], y=[math.nan])
    both = chart(LINE, none, Series(label="other", x=[0, 2], y=[1.0, 4.0]))
    assert [entry.label for entry in Layout.of(both).legend] == ["a line", "other"]


def test_names_stand_for_numbers_and_turn_where_they_are_long() -> None:
    names = ("the", "sea", "is")
    bars = Series(label="p", x=[0, 1, 2], y=[3.0, 2.0, 1.0], kind="bars")
    few = chart(bars, x_names=names)
    _, panel = drawn(few)
    assert [tick.get_text() for tick in panel.get_xticklabels()] == list(names)
    assert not Layout.of(few).turned
    many = chart(bars, x_names=tuple(f"a longer name {n}" for n in range(12)))
    assert Layout.of(many).turned
    assert Layout.of(many).height > Layout.of(few).height + 0.5


def test_the_range_of_the_y_axis_can_be_told() -> None:
    assert y_axis(chart(LINE, y_range=(0.0, 100.0))) == Axis(low=0.0, high=100.0)


def test_equal_charts_are_equal_bytes_in_both_forms() -> None:
    one = chart(LINE, notes=("a $note$ with \x1b in it",))
    assert chart_picture(one, "svg") == chart_picture(one, "svg")
    assert chart_picture(one, "png") == chart_picture(one, "png")
    assert b"a $note$ with \xef\xbf\xbd in it" in chart_picture(one, "svg")
