"""A chart of the lab in characters."""

from __future__ import annotations

import math
from typing import Any

import pytest
from rich.cells import cell_len

from nextok.cli.lab_chart import chart_lines
from nextok.cli.plot_page import Room
from nextok.cli.terminal_signs import ASCII, UNICODE
from nextok.lab.chart import Chart, Series

LINE = Series(label="rises", x=[0, 10], y=[0.0, 10.0])
LEVEL = Series(label="stays", x=[0, 10], y=[5.0, 5.0])


def chart(*series: Series, **options: Any) -> Chart:
    words = {"name": "c", "title": "A title", "x_label": "index", "y_label": "time (ms)"}
    return Chart(**{**words, **options}, series=series)


def lines(one: Chart, columns: int = 60, *, color: bool = False, signs: Any = ASCII) -> list[str]:
    return chart_lines(one, Room(columns=columns, lines=30, signs=signs, color=color))


def test_title_legend_axes_and_notes_surround_the_field() -> None:
    found = lines(chart(LINE, LEVEL, notes=("how it was made",), marks=((5.0, "half"),)))
    assert found[:5] == ["A title", "a rises", "b stays", "", "time (ms)"]
    assert found[-1] == "how it was made"
    assert found[-2].strip() == "^ half"
    assert found[-3].split() == ["0", "5", "index"]


def test_a_line_goes_from_corner_to_corner_and_another_stays() -> None:
    rows = [line[4:] for line in lines(chart(LINE, LEVEL)) if line[3:4] in ("|", "+")][:-1]
    assert rows[0].strip() == "aa" and len(rows[0]) > 50
    assert rows[-1] == "aaaa"
    assert len([row for row in rows if row.count("b") > 30]) == 1


def test_steps_have_no_slope() -> None:
    one = Series(label="s", x=[0, 5, 10], y=[0.0, 0.0, 10.0], kind="steps")
    rows = [line for line in lines(chart(one), signs=UNICODE) if "│" in line or "┤" in line]
    assert sum(any("\u2800" < sign <= "\u28ff" for sign in row) for row in rows) == 2


def test_a_band_shows_both_its_edges_and_bars_are_full() -> None:
    band = Series(label="b", x=[0, 10], y=[1.0, 1.0], y_high=[9.0, 9.0], kind="band")
    rows = [line for line in lines(chart(band)) if line.count(":") > 20]
    assert len(rows) == 2
    bars = Series(label="b", x=[0, 1, 2], y=[1.0, 2.0, 3.0], kind="bars")
    rows = [line.partition("|")[2] for line in lines(chart(bars)) if "#" in line]
    widths = [len(row.split()) for row in rows if row]
    assert widths == sorted(widths) and {1, 2, 3} == set(widths)
    assert "##########" in max(rows, key=len)


@pytest.mark.parametrize("columns", [40, 61, 120])
@pytest.mark.parametrize("signs", [ASCII, UNICODE])
def test_no_line_is_wider_than_the_terminal(columns: int, signs: Any) -> None:
    names = ("plain", "日本語のことば", "a name that is much longer than there is room", "x")
    bars = Series(label="the label of a series " * 5, x=[0, 1, 2, 3], y=[1e6, 2.0, 3.0, 0.0],
                  kind="bars")  # fmt: skip
    for one in (
        chart(LINE, LEVEL, title="long " * 40, notes=("note " * 60,), marks=((9.9, "late"),)),
        chart(bars, bars, x_names=names),
        chart(Series(label="none", x=[], y=[])),
    ):
        assert max(map(cell_len, lines(one, columns, signs=signs))) <= columns


def test_named_bars_are_as_long_as_they_are_high() -> None:
    bars = Series(label="p", x=[0, 1, 2], y=[40.0, 20.0, 0.0], kind="bars")
    first, second, third = lines(chart(bars, x_names=("yes", "no", "never")))[-3:]
    assert first.startswith("  yes |") and second.startswith("   no |")
    assert abs(first.count("|") - 1 - 2 * (second.count("|") - 1)) <= 1
    assert first.count("|") > 35
    assert first.endswith(" 40") and third == "never | 0"


def test_a_bar_of_nothing_is_told_from_no_bar_and_a_series_of_none_has_no_legend() -> None:
    some = Series(label="some", x=[0, 1], y=[0.0, math.nan], kind="bars")
    more = Series(label="more", x=[0, 1], y=[1.0, 2.0], kind="bars")
    none = Series(label="none", x=[], y=[])
    found = lines(chart(some, more, x_names=("a", "b")))
    assert found[-4] == "a | 0" and found[-2] == "b | -"
    legend = "\n".join(lines(chart(LINE, LEVEL, none)))
    assert "none" not in legend and "b stays" in legend


def test_named_bars_on_a_logarithmic_axis_tell_orders_apart() -> None:
    bars = Series(label="n", x=[0, 1, 2], y=[10_000.0, 100.0, 1.0], kind="bars")
    found = lines(chart(bars, x_names=("a", "b", "c"), y_scale="log"))[-3:]
    long, middle, short = (line.count("|") - 1 for line in found)
    assert abs((long - middle) - (middle - short)) <= 1 and middle > short
    assert found[0].endswith(" 10,000")


def test_series_are_told_apart_by_letters_or_by_colours() -> None:
    bars = [Series(label=label, x=[0], y=[9.0], kind="bars") for label in ("one", "two")]
    plain = lines(chart(*bars, x_names=("x",)))
    assert plain[-2].startswith("x |aaaa") and plain[-1].startswith("  |bbbb")
    colored = lines(chart(*bars, x_names=("x",)), color=True)
    assert "\x1b[36m" in colored[-2] and "\x1b[33m" in colored[-1]


def test_a_title_cannot_drive_the_terminal() -> None:
    text = "\n".join(lines(chart(LINE, title="a\x1b[31mb", x_names=())))
    assert "\x1b" not in text and "␛" in text
