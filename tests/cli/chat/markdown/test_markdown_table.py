"""Tables on a screen: while they grow, when they cannot be redrawn, in windows too narrow."""

from __future__ import annotations

from typing import Any

import pytest

TABLE = "| Name | Qty | Note |\n|:---|---:|:--:|\n| a | 1 | **x** |\n| longer | 1000 | `a\\|b` |\n"


def test_columns_are_aligned_below_a_header_with_a_rule(show: Any) -> None:
    shown = show(f"Text:\n{TABLE}After")
    assert shown.lines == [
        "Text:",
        "",
        "Name   │  Qty │ Note",
        "───────┼──────┼─────",
        "a      │    1 │  x",
        "longer │ 1000 │ a|b",
        "",
        "After",
    ]
    assert shown.styled(bold=True) == "NameQtyNotex"
    assert shown.styled(fg="cyan") == "a|b"


def test_rows_appear_as_they_come(window: Any) -> None:
    shown = window()
    stream = shown.stream()
    for piece, lines in [
        ("| A ", ["| A"]),
        ("| B |\n", ["| A | B |"]),
        ("|---|--", ["| A | B |"]),
        ("-|\n", ["A │ B", "──┼──"]),
        ("| long", ["A │ B", "──┼──", "| long"]),
        (" | x |\n", ["A    │ B", "─────┼──", "long │ x"]),
        ("| y | z |\n", ["A    │ B", "─────┼──", "long │ x", "y    │ z"]),
    ]:
        stream.feed(piece)
        assert shown.lines == lines


def test_cells_are_folded_when_the_window_is_narrow(show: Any) -> None:
    shown = show(
        "| Key | Meaning |\n|---|---|\n| one | a text of several words |\n| two | short |",
        columns=20,
    )
    assert shown.lines == [
        "Key │ Meaning",
        "────┼───────────────",
        "one │ a text of",
        "    │ several words",
        "two │ short",
    ]


def test_a_window_too_narrow_for_columns_gets_a_line_for_each_cell(show: Any) -> None:
    shown = show("| Aa | Bbbbb | Ccccc |\n|-|-|-|\n| one | two | three |\n| 1 |", columns=14)
    assert shown.lines == [
        *("Aa: one", "Bbbbb: two", "Ccccc: three", "───", "Aa: 1", "Bbbbb:", "Ccccc:"),
    ]


def test_wide_characters_keep_columns_aligned(show: Any) -> None:
    shown = show("| 名前 | n |\n|---|--:|\n| 日本語 | 1 |\n| ab | 22 |")
    assert shown.lines == ["名前   │  n", "───────┼───", "日本語 │  1", "ab     │ 22"]


def test_a_row_has_as_many_cells_as_the_header_and_loses_none(show: Any) -> None:
    shown = show("| a | b |\n|---|---|\n| 1 |\n| 1 | 2 | 3 |")
    assert shown.lines == ["a │ b", "──┼──────", "1 │", "1 │ 2 | 3"]


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("| a | b |\ntext", "| a | b |\ntext"),
        ("| a | b |\n|---|\ntext", "| a | b |\n|---|\ntext"),
        ("| a | b |\n|--x|--|", "| a | b |\n|--x|--|"),
        ("| a | b |", "| a | b |"),
        ("text\n| a |\n\n| b |", "text\n| a |\n\n| b |"),
        ("> | a |\n|---|", "│ | a |\n\n|---|"),
    ],
)
def test_what_has_no_line_below_its_header_is_text(source: str, seen: str, show: Any) -> None:
    assert show(source).text == seen


def test_a_table_taller_than_the_window_is_only_continued(window: Any) -> None:
    shown = window(40, 6)
    rows = "".join(f"| {number} | a text |\n" for number in range(9))
    shown.reply(f"| a | b |\n|---|---|\n{rows}| 10 | a text, longer |\n| longer | x |\n| y | z |\n")
    assert shown.lines == [
        "7 │ a text",
        "8 │ a text",
        "10 │ a text, longer",
        "longer │ x",
        "y      │ z",
    ]


def test_a_tall_table_folds_cells_to_the_columns_it_has(window: Any) -> None:
    shown = window(40, 6)
    rows = "".join(f"| {number} | a text |\n" for number in range(9))
    shown.reply(f"| a | b |\n|---|---|\n{rows}| 9 | a text and more |\n")
    assert shown.lines == ["7 │ a text", "8 │ a text", "9 │ a text", "  │ and", "  │ more"]


def test_a_table_in_a_list_item_keeps_its_margin(show: Any) -> None:
    shown = show("1. | a | b |\n   |---|---|\n   | cc | d |\n   | eee | f |\n2. x")
    assert shown.lines == [
        "1. a   │ b",
        "   ────┼──",
        "   cc  │ d",
        "   eee │ f",
        "2. x",
    ]


@pytest.mark.parametrize(
    ("columns", "last"),
    [
        (30, ["r1  │ r2", "r3  │ r4 longer"]),
        (18, ["r1  │ r2", "r3  │ r4 longer"]),
        (9, ["r1  │ r2", "aaa: r3", "bbbbb: r4", "longer"]),
    ],
)
def test_a_window_that_changes_its_width_shows_every_row_once(
    columns: int, last: list[str], window: Any
) -> None:
    shown = window(20, 20)
    stream = shown.stream()
    stream.feed("| aaa | bbbbb |\n|---|---|\n| r1 | r2 |\n")
    shown.resize(columns)
    stream.feed("| r3 | r4 longer |\n")
    stream.close()
    assert shown.lines[2:] == last
