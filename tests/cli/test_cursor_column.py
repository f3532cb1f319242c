"""Where the cursor is said to be after text, and when that is not known."""

from __future__ import annotations

import pytest

from nextok.cli.cursor_column import CursorColumn

WIDTH = 10


def after(*texts: str) -> CursorColumn:
    cursor = CursorColumn(WIDTH)
    for text in texts:
        cursor.advance(text)
    return cursor


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("", 0),
        ("abc", 3),
        ("a" * 9, 9),
        ("a" * 10, 10),
        ("a" * 11, 1),
        ("a" * 20, 10),
        ("abc\nde", 2),
        ("abc\n", 0),
        ("abc\rd", 1),
        ("abc\r\nde", 2),
        ("世界", 4),
        ("世" * 5, 10),
        ("a" + "世" * 5, 2),  # the last one does not fit into the column that is left
        ("a\tb", 9),
        ("\t\t", 9),  # a tab goes no further than the last column
        ("e\u0301" * 3, 3),
        ("\x1b[1mab\x1b[0m", 2),
        ("abc\r\x1b[Kd", 1),
    ],
)
def test_columns(text: str, column: int) -> None:
    assert after(text).column == column
    assert after(*text).column == column or "\x1b" in text


@pytest.mark.parametrize(
    ("before", "text", "stays"),
    [
        ("", "abc", True),
        ("abc", "", True),
        ("abc", "abcdef", True),
        ("abc", "abcdefg", False),  # at the edge
        ("abc", "abcdefgh", False),
        ("abc", "\n", False),
        ("abc", "d\n", False),
        ("a" * 10, "b", False),
        ("a" * 11, "b", True),
        ("abc", "\rxyz", True),
        ("abc", "\r\x1b[2Axyz", False),
        ("abc", "\x1b[31mx\x1b[0m", True),
        ("abcdefgh", "世", False),
        ("abcdefghi", "世", False),
        ("abcdefg", "世", True),
    ],
)
def test_whether_it_stays_in_its_row(before: str, text: str, stays: bool) -> None:
    assert after(before).advance(text) is stays


@pytest.mark.parametrize("doubtful", ["❤\ufe0f", "👍🏽", "👩\u200d🚀", "🇩🇪"])
def test_what_terminals_disagree_about_is_not_relied_on(doubtful: str) -> None:
    assert after(doubtful).is_inside
    assert not after("abcdefg", doubtful).is_inside
    wrapped = after("abcdefgh", doubtful, "abc")
    assert not wrapped.is_inside
    wrapped.advance("\nx")
    assert (wrapped.is_inside, wrapped.column) == (True, 1)


def test_after_a_resize_only_text_far_from_the_edges_is_where_it_was() -> None:
    for text, width, is_inside in (
        ("abc", 5, True),
        ("abc", 3, False),
        ("abcdefgh", 5, False),
        ("abc", 20, True),
        ("a" * 10, 20, False),
        ("a" * 13, 20, False),
    ):
        cursor = after(text)
        cursor.resize(width)
        assert cursor.is_inside is is_inside, (text, width)
        cursor.advance("\nab")
        assert cursor.is_inside


def test_a_tab_at_the_edge_is_not_relied_on() -> None:
    assert not after("a" * 10, "\t").is_inside
