"""Where lines end: words, wide characters, margins, and a window that changes its width."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("source", "columns", "lines"),
    [
        ("aaa bbb ccc", 7, ["aaa bbb", "ccc"]),
        ("aaa bbbb ccc", 7, ["aaa", "bbbb", "ccc"]),
        ("aa  bb", 5, ["aa", "bb"]),
        ("aaaaaaa\nb", 7, ["aaaaaaa", "b"]),
        ("aaaaaaa\n\nb", 7, ["aaaaaaa", "", "b"]),
        ("a bbbbbbbbbb c", 7, ["a", "bbbbbbb", "bbb c"]),
        ("aa **bb**b c", 5, ["aa", "bbb c"]),
        ("- aaa bbb", 7, ["• aaa", "  bbb"]),
        ("> aaa bbb", 7, ["│ aaa", "│ bbb"]),
        ("10. aaaaaaa", 8, ["10. aaaa", "    aaa"]),
        ("10. aaaaaaa", 7, ["10. aaa", "aaaa"]),
    ],
)
def test_words_are_wrapped(source: str, columns: int, lines: list[str], show: Any) -> None:
    assert show(source, columns=columns).lines == lines


@pytest.mark.parametrize(
    ("source", "columns", "lines"),
    [
        ("中文字", 6, ["中文字"]),
        ("中文字", 5, ["中文", "字"]),
        ("a中文字", 6, ["a中文", "字"]),
        ("ab中 文字", 5, ["ab中", "文字"]),
        ("中文word字", 7, ["中文", "word字"]),
        ("中文字。", 6, ["中文", "字。"]),
        ("中「文」", 4, ["中", "「文", "」"]),
        ("**中**文（字）", 8, ["中文", "（字）"]),
        ("😀😀😀", 5, ["😀😀", "😀"]),
        ("e\u0301e\u0301e\u0301e\u0301 e\u0301", 4, ["éééé", "é"]),
        ("ééé é", 4, ["ééé", "é"]),
    ],
)
def test_wide_and_combining_characters_count_right(
    source: str, columns: int, lines: list[str], show: Any
) -> None:
    assert show(source, columns=columns).lines == lines


def test_an_exactly_full_line_leaves_no_empty_one(show: Any) -> None:
    shown = show(
        "aaaa bbbbb\n- cccccccc\n> dddddddd\n\n```\neeeeeeeeee\n```\n---\n| ffff | ggg |\n|-|-|",
        columns=10,
    )
    assert shown.lines == [
        *("aaaa bbbbb", "", "• cccccccc", "", "│ dddddddd", "", "eeeeeeeeee", "", "──────────", ""),
        *("ffff │ ggg", "─────┼────"),
    ]


def test_a_narrow_window_keeps_room_for_text(show: Any) -> None:
    shown = show("- a\n  - b\n    - c\n      - dd ee ff gg\n\n100000000. number", columns=10)
    assert shown.lines == [
        *("• a", "  ◦ b", "  ▪ c", "  • dd ee", "    ff gg", "", "100000000.", "number"),
    ]


def test_a_word_that_does_not_fit_moves_to_the_next_line_with_its_style(window: Any) -> None:
    shown = window(10)
    stream = shown.stream()
    stream.feed("aaa bbb **c_c*c")
    assert shown.lines == ["aaa bbb", "c_c*c"]
    assert shown.styled(bold=True) == "c_c*c"


def test_what_follows_a_change_of_width_is_laid_out_for_the_new_one(window: Any) -> None:
    shown = window(20)
    stream = shown.stream()
    stream.feed("aaaa bbbb cccc ")
    shown.resize(30)
    stream.feed("dddd eeee ffff gggg hhhh iiii\n")
    assert shown.lines == ["aaaa bbbb cccc dddd", "eeee ffff gggg hhhh iiii"]
    shown.resize(10)
    stream.feed("jjjj kkkk llll")
    stream.close()
    assert shown.lines[-2:] == ["jjjj kkkk", "llll"]


PIECES = [
    "word ",
    "longerword",
    "中文字",
    "é",
    " ",
    "\n",
    "\n\n",
    "- ",
    "> ",
    "**",
    "`",
    "# ",
    "1. ",
    "    ",
]


class Tape:
    """What was written in lines that never end: how a terminal keeps text in any width."""

    def __init__(self) -> None:
        self.lines = [""]
        self._at = 0

    def write(self, text: str) -> None:
        for part in re.findall(r"\x1b\[K|[^\x1b]", text):
            line = self.lines[-1]
            if part == "\n":
                self.lines.append("")
            elif part == "\x1b[K":
                self.lines[-1] = line[: self._at]
            elif part != "\r":
                self.lines[-1] = line[: self._at] + part + line[self._at + 1 :]
            self._at = self._at + 1 if part not in ("\n", "\r", "\x1b[K") else self._at
            self._at = 0 if part in "\r\n" else self._at


@settings(max_examples=100, deadline=None)
@given(
    pieces=st.lists(
        st.tuples(st.sampled_from(PIECES), st.sampled_from([4, 7, 12, 20, 60])), max_size=40
    )
)
def test_nothing_is_lost_or_doubled_when_the_width_changes(pieces: list[tuple[str, int]]) -> None:
    from nextok.cli.chat.markdown_stream import MarkdownStream

    tape, columns = Tape(), [80]
    stream = MarkdownStream(tape.write, width=lambda: columns[0], height=lambda: 24, color=False)
    for piece, width in pieces:
        columns[0] = width
        stream.feed(piece)
    stream.close()
    source = "".join(piece for piece, _ in pieces)
    wanted = "".join(char for char in source if char.isalnum())
    assert "".join(char for char in "".join(tape.lines) if char.isalnum()) == wanted
