"""Diagrams in characters: every dot, bar, tick and name in its place."""

from __future__ import annotations

import pytest

from nextok.cli.terminal_plot import (
    Layer,
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
from nextok.cli.terminal_signs import ASCII, UNICODE, Signs, signs_for
from nextok.lab.axis import Axis

EIGHT = Axis(low=0, high=8)
FOUR = Axis(low=0, high=4)
DIAGONAL = [(n + 0.5, n + 0.5) for n in range(8)]


def test_a_braille_cell_has_two_by_four_dots() -> None:
    points = [(0.5, 3.5), (1.5, 0.5), (2.5, 2.5)]
    assert scatter_rows([Layer(points=points)], FOUR, FOUR, width=2, height=1, signs=UNICODE) == [
        "\u2881\u2802"  # dots 1 and 8, then dot 2
    ]


def test_a_diagonal_rises_from_left_to_right() -> None:
    rows = scatter_rows(
        [Layer(points=DIAGONAL)], EIGHT, EIGHT, width=4, height=2, signs=UNICODE
    )  # fmt: skip
    assert rows == ["  ⡠⠊", "⡠⠊  "]


def test_plain_cells_say_how_many_points_they_hold() -> None:
    points = [(0.5, 0.5), *[(1.5, 0.5)] * 2, *[(2.5, 0.5)] * 9, (3.5, 3.9)]
    rows = scatter_rows([Layer(points=points)], FOUR, FOUR, width=4, height=2, signs=ASCII)
    assert rows == ["   .", ".:# "]


def test_layers_without_styles_are_letters_and_the_fuller_one_is_seen() -> None:
    a = Layer(points=[(0.5, 0.5), (1.5, 0.5), (1.6, 0.5)], letter="a")
    b = Layer(points=[(1.5, 0.5), (2.5, 0.5)], letter="b")
    for signs in (UNICODE, ASCII):
        assert scatter_rows([a, b], FOUR, FOUR, width=4, height=1, signs=signs) == ["aab "]
        assert scatter_rows([b, a], FOUR, FOUR, width=4, height=1, signs=signs) == ["aab "]


def test_styled_layers_are_braille_in_their_styles() -> None:
    a = Layer(points=[(0.25, 0.5), (1.25, 0.5)], letter="a", style="<1>")
    b = Layer(points=[(2.25, 3.5)], letter="b", style="<2>")
    rows = scatter_rows([a, b], FOUR, FOUR, width=4, height=1, signs=UNICODE)
    assert rows == ["<1>⡀⡀\x1b[0m<2>⠁\x1b[0m "]


def test_loud_points_stand_above_all() -> None:
    many = [(0.5, 0.5)] * 9
    layer = Layer(points=[*many, (0.5, 0.6)], loud=[(0.5, 0.6)])
    assert scatter_rows([layer], FOUR, FOUR, width=2, height=1, signs=UNICODE) == ["× "]
    assert scatter_rows([layer], FOUR, FOUR, width=2, height=1, signs=ASCII) == ["x "]


def test_what_lies_outside_is_at_the_edge() -> None:
    rows = scatter_rows(
        [Layer(points=[(-9, -9), (99, 99)])], FOUR, FOUR, width=3, height=1, signs=UNICODE
    )  # fmt: skip
    assert rows == ["⡀ ⠈"]


def test_bars_are_eighths_of_a_character() -> None:
    assert bar_rows([0, 1, 2, 4, 8], 8, height=1, signs=UNICODE) == [" ▁▂▄█"]
    assert bar_rows([0, 1, 4, 6, 8], 8, height=2, signs=UNICODE) == ["   ▄█", " ▂███"]
    assert bar_rows([0, 1, 4, 6, 8], 8, height=2, signs=ASCII) == ["   .|", " .|||"]


def test_a_small_bar_is_no_nothing() -> None:
    assert bar_rows([0, 1, 1000], 1000, height=1, signs=UNICODE) == [" ▁█"]


def test_places_are_cells() -> None:
    assert [place_of(value, FOUR, 4) for value in (-1, 0, 0.99, 1, 3.99, 4, 9)] == [
        0, 0, 0, 1, 3, 3, 3
    ]  # fmt: skip


def test_ticks_are_named_where_they_stand() -> None:
    assert row_names(Axis(low=0, high=40), 8) == [(7, "0"), (3, "20"), (0, "40")]
    assert column_names(Axis(low=0, high=100), 20) == [(0, "0"), (19, "100")]
    assert margin_of([(0, "1,000"), (3, "5")]) == 5
    assert margin_of([]) == 0


def test_a_frame_has_names_on_the_left_and_below() -> None:
    def lines(signs: Signs) -> list[str]:
        left, below = [(0, "100"), (2, "0")], [(0, "0"), (8, "8")]
        return framed(
            ["x", "", "  y"], left, below, width=18, margin=3, title="gap", signs=signs
        )  # fmt: skip

    assert lines(UNICODE) == [
        "100 ┤x",
        "    │",
        "  0 ┤  y",
        "    └┬───────┬─────────",
        "     0       8      gap",
    ]
    assert lines(ASCII) == [
        "100 +x",
        "    |",
        "  0 +  y",
        "    ++-------+---------",
        "     0       8      gap",
    ]


def test_names_that_have_no_room_are_left_out() -> None:
    below = [(0, "0"), (2, "1,000"), (4, "2,000"), (11, "3,000"), (16, "4")]
    lines = framed([""], [], below, width=18, margin=0, title="gap", signs=UNICODE)
    assert lines[-2:] == [" └┬─┬─┬──────┬────┬─", "  0 2,000        gap"]


def test_marks_point_at_their_columns() -> None:
    assert mark_rows([(2, "p50"), (12, "p95"), (19, "p99")], 20, UNICODE) == [
        "  ▲ p50     ▲ p95",
        "               p99 ▲",
    ]


def test_marks_that_meet_take_more_lines() -> None:
    assert mark_rows([(2, "p50"), (2, "p95"), (4, "p99")], 20, ASCII) == [
        "  ^ p50", "  ^ p95", "    ^ p99"
    ]  # fmt: skip
    assert mark_rows([], 20, ASCII) == []


def test_nothing_is_not_styled() -> None:
    assert (styled("", "<1>"), styled("a", ""), styled("a", "<1>")) == ("", "a", "<1>a\x1b[0m")


@pytest.mark.parametrize(
    ("encoding", "terminal", "unicode"),
    [
        ("utf-8", "xterm-256color", True),
        ("utf-8", "", True),
        ("utf-8", "linux", False),
        ("ascii", "xterm", False),
        ("latin-1", "xterm", False),
        ("no-such-encoding", "xterm", False),
    ],
)
def test_signs_are_what_can_be_shown(encoding: str, terminal: str, unicode: bool) -> None:
    signs = signs_for(encoding, terminal)
    assert signs is (UNICODE if unicode else ASCII)
    if not unicode:
        "".join(vars(signs).values()).encode("ascii")
