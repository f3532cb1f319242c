"""Code blocks: verbatim, in colours, each line read once."""

from __future__ import annotations

from typing import Any

import pytest

from nextok.cli.chat.markdown_highlight import Highlighter, language
from nextok.cli.chat.markdown_pen import Piece

STRING, COMMENT, KEYWORD = "32", "2;3", "35"


def styles(name: str, *lines: str) -> list[dict[str, str]]:
    """For each line, each piece's style."""
    highlighter = Highlighter(name)
    found = []
    for line in lines:
        pieces = highlighter.line(line, whole=True)
        assert "".join(piece.text for piece in pieces) == line
        found.append({piece.text.strip(): piece.style for piece in pieces})
    return found


@pytest.mark.parametrize(
    ("info", "name"),
    [
        ("python", "python"),
        ("py title=x", "py"),
        ("{.rust .x}", "rust"),
        ("c++", "c++"),
        ("js,ignore", "js"),
        ("", ""),
        ("{}", ""),
    ],
)
def test_the_first_word_behind_a_fence_is_the_language(info: str, name: str) -> None:
    assert language(info) == name


def test_a_string_goes_on_over_lines() -> None:
    first, second, third = styles("python", "x = '''a", "for b", "c''' if d")
    assert first["a"] == second["for b"] == third["c"] == STRING
    assert third["if"] == KEYWORD


@pytest.mark.parametrize("name", ["c", "js", "java", "go", "rust", "css", "sql", "kotlin"])
def test_a_block_comment_goes_on_over_lines(name: str) -> None:
    first, second, third = styles(name, "/* a", "b c", "d */ x")
    assert set(first.values()) == set(second.values()) == {COMMENT}
    assert third["d */"] == COMMENT
    assert third["x"] != COMMENT


@pytest.mark.parametrize(
    ("name", "line"),
    [("bash", "ls /*"), ("python", "a = '/*'"), ("c", "// see /* here"), ("js", 'x = "/*"')],
)
def test_what_only_looks_like_a_comment_does_not_go_on(name: str, line: str) -> None:
    _, second = styles(name, line, "b")
    assert COMMENT not in second.values()


@pytest.mark.parametrize(
    "name", ["json", "yaml", "ruby", "console", "make", "diff", "html", "text"]
)
def test_every_kind_of_lexer_leaves_the_text_as_it_is(name: str) -> None:
    styles(name, "a: [1, 'x']  # c", "", "\tb", "+ <p class='x'>&amp;</p>", "$ ls {", "中文 é")


def test_an_unknown_language_is_plain() -> None:
    assert Highlighter("nosuch").line("def f():", whole=True) == [Piece("def f():")]
    assert Highlighter("").is_plain


def test_a_line_gets_its_colours_when_it_is_complete(window: Any) -> None:
    shown = window()
    stream = shown.stream()
    stream.feed("```python\nif x")
    assert shown.lines == ["  python", "  if x"]
    assert shown.styled(fg="magenta") == ""
    stream.feed(":\n")
    assert shown.styled(fg="magenta") == "if"
    assert shown.styled(blink=True) == "python"


def test_a_long_line_flows_over_the_edge_and_is_coloured_in_every_row(show: Any) -> None:
    source = "xx = 'aaaaaaaaaaaa' if yyyyyyyyyyyy else 'bbbbbbbbbb'  # the end"
    shown = show(f"```python\n{source}\n```\nafter", columns=20)
    assert "".join(shown.screen.display[1:5]).rstrip() == source
    assert shown.styled(fg="green") == "'aaaaaaaaaaaa''bbbbbbbbbb'"
    assert shown.styled(fg="magenta") == "ifelse"
    assert shown.styled(italics=True) == "# the end"
    assert shown.lines[5:] == ["", "after"]


def test_a_long_line_of_wide_characters_flows_over_the_edge(show: Any) -> None:
    shown = show("```python\nx = '一二三四五六七八九'\n```", columns=10)
    assert shown.lines == ["python", "x = '一二", "三四五六七", "八九'"]


def test_tabs_become_columns_of_the_code(show: Any) -> None:
    assert show("```\n\tx\na\tb\n```").lines == ["      x", "  a   b"]


def test_a_line_begun_in_another_width_stays_plain(window: Any) -> None:
    shown = window(30)
    stream = shown.stream()
    stream.feed("```python\nif x")
    shown.resize(40)
    stream.feed(": pass\nif y: pass\n")
    stream.close()
    assert shown.lines == ["  python", "  if x: pass", "  if y: pass"]
    assert shown.styled(fg="magenta") == "ifpass"
